from .keys import corpus_partitions as corpus_partitions
from .project.component import RaptorCorpusComponent as RaptorCorpusComponent
from .project.corpus import build_raptor_corpus as build_raptor_corpus
from .project.runs import failure_reason as failure_reason
from .specs import RaptorAsset as RaptorAsset
from .specs import RaptorTranslator as RaptorTranslator
from .standalone.check_history import check_history as check_history
