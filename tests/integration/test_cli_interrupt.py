"""An export that is stopped from outside leaves neither a half file nor its temporary one."""

import signal
import subprocess
import sys
import time

import pytest

# A shell that starts a job in the background lets it ignore SIGINT, and children inherit that.
HEED_SIGINT = "signal.signal(signal.SIGINT, signal.default_int_handler)"
NO_FILE_ABOVE_8K = "resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))"


def start(folder, suffix, *, count, first):
    program = f"import resource, signal, sys; from anira.cli import main; {first}; sys.exit(main(sys.argv[1:]))"
    words = ["export", "mano", "--split", "train", "-n", str(count), "--out", f"rows{suffix}"]
    return subprocess.Popen([sys.executable, "-c", program, *words], cwd=folder, stderr=subprocess.PIPE, text=True)


def wait_until_it_writes(folder, child):
    while not any(path.stat().st_size for path in folder.iterdir()):
        assert child.poll() is None, child.stderr.read()
        time.sleep(0.02)


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
@pytest.mark.parametrize(("stop", "word"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")])
def test_a_stopped_export_leaves_nothing(tmp_path, suffix, stop, word):
    with start(tmp_path, suffix, count=10**7, first=HEED_SIGINT) as child:
        try:
            wait_until_it_writes(tmp_path, child)
            child.send_signal(stop)
            err = child.communicate()[1]
        finally:
            child.kill()
    assert child.returncode == 128 + stop
    assert err.splitlines()[-1] == f"anira: {word}"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_an_export_without_room_leaves_nothing(tmp_path, suffix):
    with start(tmp_path, suffix, count=5000, first=NO_FILE_ABOVE_8K) as child:
        err = child.communicate()[1]
    assert child.returncode == 2
    assert err.splitlines()[-1].startswith(f"anira: cannot write rows{suffix}: ")
    assert "File too large" in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []
