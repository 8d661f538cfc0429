"""Libraries are imported without what no command needs, and work."""

import subprocess
import sys

PROGRAM = """
import sys
from pipelines.commands.light_imports import import_trees
import_trees()
import lightgbm, numpy as np
data = lightgbm.Dataset(np.arange(40.0)[:, None], np.arange(40) > 20)
trees = lightgbm.train({"objective": "binary", "min_data_in_leaf": 1, "verbose": -1}, data, 2)
assert trees.predict(np.array([[1.0]])) < trees.predict(np.array([[39.0]]))
print("sklearn" in sys.modules)
import sklearn.cluster  # which is hidden from LightGBM alone
"""


def test_trees_come_without_scikit_learn() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_a_local_clean_does_without_beam_and_lightgbm() -> None:
    program = "import sys, pipelines.clean.clean_stage; print({'apache_beam', 'lightgbm'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr
