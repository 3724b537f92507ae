from .assets.names import corpus_partitions as corpus_partitions
from .chain.events import failure_reason as failure_reason
from .corpus.alerts import Alert as Alert
from .corpus.alerts import failed_checks as failed_checks
from .corpus.component import RaptorCorpusComponent as RaptorCorpusComponent
from .corpus.raptor_corpus import build_raptor_corpus as build_raptor_corpus
