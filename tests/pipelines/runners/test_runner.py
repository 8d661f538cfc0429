"""Running a root transform here: errors come back as what they were on the worker."""

import apache_beam as beam
import pytest

from mining.errors import InputError, UnreachablePrecision
from pipelines.runners.runner import RunnerSettings, run


class Fail(beam.PTransform):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def expand(self, pbegin: beam.pvalue.PBegin) -> beam.PCollection:
        return pbegin | beam.Create([self.error]) | beam.Map(_raise)


def _raise(error: Exception) -> None:
    raise error


@pytest.mark.parametrize("kind", [InputError, UnreachablePrecision])
def test_an_error_for_the_user_keeps_its_class_and_sentence(kind: type[InputError]) -> None:
    with pytest.raises(InputError) as error:
        run(lambda: Fail(kind("a.txt, line 3: bad")), RunnerSettings(), workers=1)
    assert (type(error.value), str(error.value)) == (kind, "a.txt, line 3: bad")
