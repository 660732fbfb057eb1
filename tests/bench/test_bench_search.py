"""The bench of a partition's search, on few rows."""

from recalld.bench import bench_search, goals
from recalld.scoring.params import Channel


def test_every_way_of_asking_is_measured_and_the_goal_has_its_figure():
    """A run gives a figure for each way of asking, floor and stage; the goal names one of them."""
    report = bench_search.measure(1, (40, 1_000))
    wanted = {goal.figure for goal in goals.GOALS if goal.figure.startswith("search.")}
    assert wanted <= {f"search.{name}" for name in report.figures}
    for name in ("vector_us_40", "text_us_40", "read_int8_us_1000", "stage_view_us_40"):
        assert isinstance(report.figures[name], float), name


def test_the_question_of_all_channels_asks_all():
    """Each channel that speaks without a caller's help has evidence in that question's answers."""
    index = bench_search.filled(200)
    plans = bench_search.plans_of(bench_search.role_model())["text, all channels"]
    heard = {
        channel
        for plan in plans
        for channel in Channel
        if index.search(plan).evidence[channel].any()
    }
    exact = {Channel.IDENTIFIER, Channel.KEY}
    assert heard | exact == set(Channel)
