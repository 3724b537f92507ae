from .keys import corpus_partitions as corpus_partitions
from .project.component import RaptorCorpusComponent as RaptorCorpusComponent
from .project.corpus import build_raptor_corpus as build_raptor_corpus
from .translator import RaptorAsset as RaptorAsset
from .translator import RaptorTranslator as RaptorTranslator
