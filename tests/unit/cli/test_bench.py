from anira.cli.bench import BENCHMARKS


def test_without_a_name_the_benchmarks_are_listed(anira):
    result = anira("bench")
    assert (result.status, result.err) == (0, "")
    for name, (text, *_) in BENCHMARKS.items():
        assert name in result.out
        assert text in result.out
