"""Every benchmark: its name, what it measures, and its class, which is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pipelines.evaluation.benchmark import Benchmark


class BenchmarkEntry(NamedTuple):
    """Where the settings of a benchmark are, `module:Class` in this package, and one line of help."""

    place: str
    about: str

    def load(self) -> type[Benchmark]:
        module, _, name = self.place.partition(":")
        found: type[Benchmark] = getattr(import_module(f"pipelines.evaluation.{module}"), name)
        return found


BENCHMARKS = {
    "tatoeba": BenchmarkEntry("tatoeba:Tatoeba", "Retrieval of translations, Tatoeba by language."),
    "bucc": BenchmarkEntry("bucc:Bucc", "Mining of comparable corpora: F1 of BUCC 2017/2018 and the like."),
    "retrieval": BenchmarkEntry("xsim:CrossLingualRetrieval", "Retrieval of translations among many sentences."),
    "xsim": BenchmarkEntry("xsim:Xsim", "Error of retrieval by margin on line-aligned files (xsim)."),
    "xsimpp": BenchmarkEntry("xsimpp:XsimPlusPlus", "The same among edited translations (xsim++)."),
    "sts": BenchmarkEntry("sts:Sts", "Semantic textual similarity: SemEval 2012-22, STS-B, SICK."),
    "classify": BenchmarkEntry("classify:Classify", "Classification across languages: MLDoc, MTOP, CLS, MARC."),
    "questions": BenchmarkEntry("questions:QuestionRetrieval", "Retrieval of questions: NQ-open, MKQA against PAQ."),
    "purity": BenchmarkEntry("purity:PurityOfClusters", "Purity of clusters of labelled texts."),
    "langid-probe": BenchmarkEntry("langid_probe:LangidProbe", "How well a linear classifier tells languages apart."),
    "paws": BenchmarkEntry("paws:PawsX", "Paraphrases and near misses: PAWS-X."),
    "hubness": BenchmarkEntry("hubness:HubnessOfSpace", "Hubs among nearest neighbours."),
    "align": BenchmarkEntry("sentence_alignment:Align", "Alignment of sentences: Text+Berg."),
    "documents": BenchmarkEntry("document_alignment:Documents", "Alignment of documents and their sentences."),
    "noise": BenchmarkEntry("noisy_bitext:NoiseInBitext", "How well a pair classifier finds kinds of noise."),
}
