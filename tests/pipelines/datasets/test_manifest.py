"""Manifests, fingerprints, resume and refusal."""

import json
from pathlib import Path

import pytest

from mining.errors import InputError
from mining.files import atomic_writer
from pipelines.datasets.manifest import (
    Counters,
    Dataset,
    Input,
    Request,
    Shard,
    changed,
    check_input,
    fingerprint,
    found_from,
    open_dataset,
    relative,
)
from pipelines.datasets.work import Work, begin


def request(**changes) -> Request:
    base = {
        "kind": "sentences",
        "configuration": {"read": {"lang": "en"}, "rows": 3},
        "inputs": [("a", "1"), ("b", "2")],
    }
    base |= changes
    base["inputs"] = [Input(role="text", name=name, fingerprint=value) for name, value in base["inputs"]]
    return Request(**base)


def note(work: Work, index: int, digest: str) -> Shard:
    name = f"{index:05d}.parquet"
    with atomic_writer(work.place(name)) as stream:
        stream.write(digest.encode())
    return work.note(Shard(index=index, name=name, rows=2, digest=digest))


def make(url: str, asked: Request | None = None, digest: str = "d") -> Dataset:
    work = begin(url, asked or request())
    assert isinstance(work, Work)
    shards = [note(work, i, digest) for i in (1, 0)]
    return work.complete(shards, Counters(rows_in=5, kept=4, dropped={"empty": 1}))


@pytest.mark.parametrize("place", ["file", "memory"])
def test_complete_dataset_opens_and_is_not_made_again(tmp_path: Path, place: str) -> None:
    url = str(tmp_path / "set") if place == "file" else f"memory://{tmp_path}/set"
    made = make(url)
    assert open_dataset(url, "sentences") == made == begin(url, request())
    assert (made.rows, [shard.index for shard in made.shards]) == (4, [0, 1])
    assert made.shard_url(made.shards[1]) == f"{url}/00001.parquet"


def test_fingerprint_is_of_the_content_and_not_of_the_request(tmp_path: Path) -> None:
    first = make(str(tmp_path / "a"))
    same = make(str(tmp_path / "b"), request(inputs=[("c", "3")]))
    other = make(str(tmp_path / "c"), digest="e")
    assert first.fingerprint == same.fingerprint != other.fingerprint


def test_fingerprints_stay_the_same_for_ever() -> None:
    assert (
        fingerprint("a", 1, {"b": [2], "a": None}) == fingerprint("a", 1, {"a": None, "b": [2]}) == "9609222901abe4f9"
    )
    assert fingerprint("ab", "c") != fingerprint("a", "bc")


def test_unfinished_work_continues(tmp_path: Path) -> None:
    url = str(tmp_path / "set")
    work = begin(url, request())
    assert isinstance(work, Work)
    shard = note(work, 3, "x")
    again = begin(url, request())
    assert again == work
    assert (again.finished(3), again.finished(4)) == (shard, None)
    with pytest.raises(InputError, match="unfinished; run the command"):
        open_dataset(url, "sentences")


CHANGES = [
    ({"configuration": {"read": {"lang": "de"}, "rows": 3}}, "read.lang: en -> de"),
    ({"configuration": {"read": {"lang": "en"}}}, "rows: 3 -> None"),
    ({"inputs": [("a", "1")]}, "input b is gone"),
    ({"inputs": [("a", "1"), ("b", "2"), ("c", "3")]}, "input c is new"),
    ({"inputs": [("a", "1"), ("b", "9")]}, "input b has changed"),
    ({"inputs": [("b", "2"), ("a", "1")]}, "another order"),
    ({"kind": "vectors"}, "kind: sentences -> vectors"),
    ({"versions": {"language id": "lid 2"}}, "version of language id: None -> lid 2"),
]


@pytest.mark.parametrize(("changes", "phrase"), CHANGES)
@pytest.mark.parametrize("complete", [True, False])
def test_work_of_another_configuration_is_refused(tmp_path: Path, changes: dict, phrase: str, complete: bool) -> None:
    url = str(tmp_path / "set")
    make(url) if complete else begin(url, request())
    with pytest.raises(
        InputError, match=r"another configuration \(.*\); delete that folder or choose another"
    ) as error:
        begin(url, request(**changes))
    assert phrase in str(error.value)


def test_same_requests_do_not_differ() -> None:
    assert changed(request(), request()) == []
    assert changed(request(), request(inputs=[("moved/a", "1"), ("b", "2")])) == [], "names do not decide"


def test_inputs_are_known_by_their_role() -> None:
    graph = [Input(role=role, name=role, fingerprint=role) for role in ("source", "target", "source probes")]
    asked = Request(kind="graph", configuration={}, inputs=graph)
    assert asked.given("target") == graph[1:2]
    swapped = [
        given.model_copy(update={"role": role}) for given, role in zip(graph, ("target", "source"), strict=False)
    ]
    assert changed(asked, Request(kind="graph", configuration={}, inputs=[*swapped, graph[2]]))


@pytest.mark.parametrize(
    ("url", "reader", "name"),
    [
        ("work/src", "work/graph", "../src"),
        ("/a/text/de", "/a/round-1/vectors/de", "../../../text/de"),
        ("memory://w/src", "memory://w/src-vectors", "../src"),
        ("/a/b", "memory://w/c", "/a/b"),
    ],
)
def test_an_input_is_found_from_its_reader(url: str, reader: str, name: str) -> None:
    assert relative(url, reader) == name
    assert found_from(reader, name) == url


def test_a_manifest_of_the_schema_before_is_read(tmp_path: Path) -> None:
    inputs = [{"name": name, "fingerprint": name} for name in ("graph", "en", "en-seed", "de", "de-seed", "gold.tsv")]
    before = {
        "schema_version": 1,
        "request": {"kind": "pairs", "configuration": {"margin": "ratio"}, "inputs": inputs},
        "shards": [{"index": 0, "name": "00000.parquet", "rows": 3, "digest": "d", "counters": {}}],
        "counters": {"rows_in": 3, "kept": 3, "dropped": {}},
        "measures": {},
        "fingerprint": "f",
    }
    (tmp_path / "manifest.json").write_text(json.dumps(before))
    asked = open_dataset(str(tmp_path), "pairs").manifest.request
    roles = ["graph", "source", "source probes", "target", "target probes", "gold"]
    assert [given.role for given in asked.inputs] == roles
    few = before | {"request": before["request"] | {"inputs": [inputs[place] for place in (0, 1, 3, 5)]}}
    (tmp_path / "manifest.json").write_text(json.dumps(few))
    asked = open_dataset(str(tmp_path), "pairs").manifest.request
    assert [given.role for given in asked.inputs] == ["graph", "source", "target", "gold"]
    shards = [
        {"index": i, "name": f"{name}-00000.parquet", "rows": 1, "digest": "d"}
        for i, name in enumerate(("forward", "backward"))
    ]
    graph = before | {"request": before["request"] | {"kind": "graph", "inputs": inputs[1:5]}, "shards": shards}
    (tmp_path / "manifest.json").write_text(json.dumps(graph))
    read = open_dataset(str(tmp_path), "graph")
    assert [given.role for given in read.manifest.request.inputs] == roles[1:5]
    assert [shard.name for shard in read.shards_of("backward")] == ["backward-00000.parquet"]


def test_foreign_folders_and_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match="holds other files"):
        begin(str(tmp_path / "full"), request())
    with pytest.raises(InputError, match="is a file"):
        begin(str(tmp_path / "full" / "thesis.tex"), request())
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["thesis.tex"]


def test_wrong_kind_version_and_rubbish_are_named(tmp_path: Path) -> None:
    url = str(tmp_path / "set")
    make(url)
    with pytest.raises(InputError, match="holds sentences; vectors are needed"):
        open_dataset(url, "vectors")
    with pytest.raises(InputError, match=r"nowhere: the dataset has no manifest\.json"):
        open_dataset(str(tmp_path / "nowhere"), "vectors")
    manifest = Path(url) / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"schema_version": 99}))
    with pytest.raises(InputError, match="schema version 99, this program reads 2"):
        open_dataset(url, "sentences")
    for rubbish in ("{}", '{"schema_version": 1}', '{"schema_version": 1, "request": {"inputs": 3}}'):
        manifest.write_text(rubbish)
        with pytest.raises(InputError, match=r"manifest\.json: not a file of this program"):
            open_dataset(url, "sentences")


def test_a_dataset_made_from_other_text_is_refused_with_both_sides(tmp_path: Path) -> None:
    text, other = make(str(tmp_path / "text")), make(str(tmp_path / "other"), digest="e")
    vectors = make(str(tmp_path / "v"), request(kind="vectors", inputs=[("text", text.fingerprint)]))
    check_input(vectors, text)
    with pytest.raises(InputError, match=f"{text.fingerprint}.*{other.fingerprint}"):
        check_input(vectors, other)


def test_counters_add_up() -> None:
    total = Counters(rows_in=3, kept=1, dropped={"b": 2}) + Counters(rows_in=2, kept=0, dropped={"a": 1, "b": 1})
    assert total == Counters(rows_in=5, kept=1, dropped={"a": 1, "b": 3})
