"""What the Flex Template launcher runs: `twinlode mine` with the template's parameters as its options."""

from __future__ import annotations

import sys

from pipelines.cli import main

# The launcher passes options of Beam's own beside the template's parameters; these become runner settings.
_RUNNER = {
    "project": "project",
    "region": "region",
    "temp_location": "temp_location",
    "sdk_container_image": "container",
    "machine_type": "machine_type",
    "worker_machine_type": "machine_type",
    "max_num_workers": "max_workers",
    "service_account_email": "service_account",
    "network": "network",
    "job_name": "job_name",
    "accelerator": "accelerator",
}
_PARAMETERS = {
    "src", "tgt", "src_lang", "tgt_lang", "encoder", "out", "work", "format", "lang_filter", "k", "search", "retrieval",
    "threshold", "target_precision", "seed_pairs", "filters", "dtype",
}  # fmt: skip


def translate(arguments: list[str]) -> list[str]:
    """`--name=value` options of the launcher as options of `twinlode mine`; others are the launcher's own business."""
    options = ["mine", "--runner", "dataflow"]
    for argument in arguments:
        name, _, value = argument.removeprefix("--").partition("=")
        if name in _PARAMETERS:
            options += [f"--{name.replace('_', '-')}", value]
        elif name in _RUNNER:
            options += ["--runner-set", f"{_RUNNER[name]}={value}"]
    return options


if __name__ == "__main__":
    sys.argv[1:] = translate(sys.argv[1:])
    main()
