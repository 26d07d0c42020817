"""What a server counts."""

from anira.serving.metrics import Metrics

ENGINE = {"waiting": 2, "running": 3, "slots": 40, "reserved_slots": 50, "max_slots": 60}


def test_the_text_has_every_value():
    metrics = Metrics()
    metrics.note_tokens([1, 2, 3], prompt=5)
    metrics.outcomes["answered"] += 1
    values = dict(line.rsplit(" ", 1) for line in metrics.text(ENGINE).splitlines() if not line.startswith("#"))
    assert {name: float(value) for name, value in values.items()} == {
        "anira_requests_waiting": 2,
        "anira_requests_running": 3,
        "anira_slots_used": 40,
        "anira_slots_held": 50,
        "anira_slots_max": 60,
        "anira_depth_mean": 2,
        "anira_tokens_per_second": 0.3,
        "anira_tokens_total": 3,
        "anira_depth_sum_total": 6,
        "anira_prompt_tokens_total": 5,
        'anira_requests_total{outcome="answered"}': 1,
        **{
            f'anira_requests_total{{outcome="{name}"}}': 0
            for name in ("invalid", "refused", "timeout", "disconnected", "failed")
        },
    }


def test_speed_is_that_of_the_last_seconds():
    now = [0.0]
    metrics = Metrics(clock=lambda: now[0])
    for second in range(100):
        now[0] = float(second)
        metrics.note_tokens([1] * 7)
    assert 6.5 <= metrics.tokens_per_second <= 8
    now[0] = 200.0
    assert metrics.tokens_per_second == 0
    assert metrics.mean_depth == 1
