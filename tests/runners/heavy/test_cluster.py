"""A real cluster of a head and two worker nodes: nodes and drivers are killed, and the results are the same."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import surecut as sc
from surecut.io.table import write_table
from surecut.system.recipe import read_recipe
from surecut.system.scoring import score
from tests.system.making import contents, cross_encoder, write_beir, write_recipe

pytestmark = pytest.mark.heavy
PATIENCE = 240.0  # seconds
LAYERS = 60  # of the cross-encoder: slow enough to be interrupted


@pytest.fixture
def cluster():
    """The head computes nothing; each of the two nodes has one processor."""
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "node_ip_address": "127.0.0.1", "include_dashboard": False}
    started = Cluster(initialize_head=True, head_node_args=head)
    started.nodes = [started.add_node(num_cpus=1, node_ip_address="127.0.0.1") for _ in range(2)]
    yield started
    started.shutdown()


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A recipe whose reranker takes its time, and the table it leads to on this machine."""
    monkeypatch.setenv("SURECUT_CACHE", str(tmp_path / "cache"))
    beir = write_beir(tmp_path / "data", queries=200, documents=400)
    cross = cross_encoder(tmp_path / "cross", layers=LAYERS)
    reranker = f'kind = "cross-encoder"\nmodel = "{cross}"'
    path = write_recipe(tmp_path / "r.toml", collection=f'beir = "{beir}"', reranker=reranker, depth=50)
    score(read_recipe(path), tmp_path / "local")
    return path


def scoring(cluster, recipe, folder):
    """`surecut score` on the cluster, in a process of its own."""
    command = [sys.executable, "-m", "surecut", "score", recipe, "-o", folder]
    command += ["--runner", "ray", "--address", cluster.address]
    return subprocess.Popen([str(each) for each in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_blocks(process, folder, count):
    """Until so many blocks are on disk."""
    until = time.monotonic() + PATIENCE
    while len(list((folder / "blocks").glob("*.parquet"))) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until, "nothing is scored"
        time.sleep(0.05)


def finished(process):
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    return out


def test_a_node_that_is_killed_in_the_middle_changes_nothing(cluster, system, tmp_path):
    folder = tmp_path / "t"
    process = scoring(cluster, system, folder)
    wait_for_blocks(process, folder, 4)
    cluster.remove_node(cluster.nodes[1], allow_graceful=False)
    assert not (folder / "meta.json").exists(), "the job was over before the node was"
    out = finished(process)
    assert out.startswith("tiny: 200 queries"), "Ray's own words about the node are not to be read"
    assert contents(folder) == contents(tmp_path / "local")


def test_a_driver_that_is_killed_goes_on_where_it_was(cluster, system, tmp_path):
    folder = tmp_path / "t"
    process = scoring(cluster, system, folder)
    wait_for_blocks(process, folder, 4)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (folder / "meta.json").exists()
    kept = {path.name: path.stat().st_mtime_ns for path in (folder / "blocks").glob("*.parquet")}
    process = scoring(cluster, system, folder)
    wait_for_blocks(process, folder, len(kept) + 1)
    there = {path.name: path.stat().st_mtime_ns for path in (folder / "blocks").glob("*.parquet")}
    assert kept.items() <= there.items()  # none was scored again
    finished(process)
    assert contents(folder) == contents(tmp_path / "local")


def test_a_head_that_is_gone_is_said_to_be(cluster, system, tmp_path):
    folder = tmp_path / "t"
    process = scoring(cluster, system, folder)
    wait_for_blocks(process, folder, 4)
    address = cluster.address
    cluster.head_node.kill_gcs_server()
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2, err
    assert err.splitlines()[-1].startswith(f"surecut: the head of the Ray cluster at '{address}' is gone")
    assert not (folder / "meta.json").exists()


def test_a_certificate_is_the_same_on_a_cluster(cluster, tmp_path):
    write_table(sc.simulate("dense-electra", queries=2000, depth=50, seed=1, ties=True), tmp_path / "t")
    sc.calibrate(sc.read_table(tmp_path / "t"), target=sc.max_drop(0.05)).save(tmp_path / "local.json")
    command = [sys.executable, "-m", "surecut", "calibrate", "--table", tmp_path / "t", "--max-drop", "5%"]
    command += ["-o", tmp_path / "ray.json", "--runner", "ray", "--address", cluster.address]
    done = subprocess.run([str(each) for each in command], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "ray.json").read_bytes() == (tmp_path / "local.json").read_bytes()
    check = [sys.executable, "-m", "surecut", "check", tmp_path / "ray.json", "--table", tmp_path / "t", "--json"]
    runs = [[*check], [*check, "--runner", "ray", "--address", cluster.address]]
    found = [subprocess.run([str(each) for each in run], capture_output=True, text=True) for run in runs]
    assert json.loads(found[0].stdout) == json.loads(found[1].stdout)


GPU = """
import os, sys
import surecut as sc

class Worker:
    def __call__(self):
        return lambda item: os.environ["CUDA_VISIBLE_DEVICES"]

print(sorted(set(dict(sc.Ray(sys.argv[1], gpus=1).infer(Worker(), [1, 2, 3, 4])).values())))
"""


def test_workers_have_a_gpu_each_if_asked(cluster):
    """Ray only counts them here: what matters is that a worker is placed where there is one, and sees no other."""
    cluster.add_node(num_cpus=2, num_gpus=2, node_ip_address="127.0.0.1")
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    done = subprocess.run(
        [sys.executable, "-c", GPU, cluster.address],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=environment,
    )
    assert done.stdout.strip() in ("['0']", "['1']", "['0', '1']"), done.stderr
