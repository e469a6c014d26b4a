"""The command `clearway plan`: answers of the papers' formulas."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from clearway import units
from clearway.command.names import Choice
from clearway.command.plan_buffers import buffers
from clearway.command.plan_switch import switch
from clearway.command.quantity import RATES, TIMES, Number, Picture, Quantity
from clearway.command.shared import console, notes, print_json
from clearway.command.tables import print_texts
from clearway.plan.choices import SIGNS, STARTS, Feedback, Sign, Start, Unit

if TYPE_CHECKING:
    from clearway.plan import expresspass as discrete
    from clearway.plan import pacc as fluid

EXAMPLES = """\b
Examples:
  clearway plan stability pacc
  clearway plan stability pacc --beta1 0.2 --beta2 0.3 --rate "100 Gbps" --out margin.svg
  clearway plan stability expresspass --flows 2 --start newcomer
  clearway plan buffers fat-tree k=8 rate=10Gbps
  clearway plan switch --target linux-tc star hosts=4 rate="100 Mbps"
"""
PACC_EXAMPLES = """\b
Examples:
  clearway plan stability pacc
  clearway plan stability pacc --beta1 0.05 --beta2 0.1 --rate "25 Gbps" --out fig5.svg
  clearway plan stability pacc --sign negative-feedback --queue-unit packets
  clearway plan stability pacc --tau "1 us" --timer "55 us" --json
"""
EXPRESSPASS_EXAMPLES = """\b
Examples:
  clearway plan stability expresspass --flows 16
  clearway plan stability expresspass --flows 2 --start newcomer --simulate --out two.svg
  clearway plan stability expresspass --flows 8 --w-min 0.02 --target-loss 0.05 --json
"""
TIME = Quantity("time", TIMES, "80 us")


@click.group(epilog=EXAMPLES)
def plan() -> None:
    """Answer from the papers' formulas, without a simulation."""


plan.add_command(buffers)
plan.add_command(switch)


@plan.group(epilog=EXAMPLES)
def stability() -> None:
    """Say whether a control law settles, in words, numbers and a picture."""


@stability.command("pacc", epilog=PACC_EXAMPLES)
@click.option(
    "--beta1",
    type=Number(0, 100, open_low=True),
    default=0.05,
    show_default=True,
    help="Gain of the queue's distance from its threshold, Q - Q_th.",
)
@click.option("--beta2", type=Number(0, 100), default=0.1, show_default=True, help="Gain of the change of the queue Q.")
@click.option(
    "--rate", type=Quantity("rate", RATES, "25 Gbps"), default="25 Gbps", show_default=True, help="Rate C of the link."
)
@click.option("--period", type=TIME, default="80 us", show_default=True, help="Period T of the controller.")
@click.option(
    "--alpha",
    type=Number(0, 1, open_low=True),
    help="Operating point alpha* of the senders.  [default: from --tau and --timer, 0.04714]",
)
@click.option(
    "--tau", type=TIME, help="Time constant tau' of DCQCN's alpha (Appendix A), whose g cancels out.  [default: 1 us]"
)
@click.option("--timer", type=TIME, help="DCQCN's timer of rate increases, T_i (Appendix A).  [default: 300 us]")
@click.option(
    "--queue-unit",
    type=Choice(get_args(Unit)),
    default="KB",
    show_default=True,
    help="Unit of the queue Q.",
)
@click.option("--sign", type=Choice(SIGNS), default="printed", show_default=True, help="Sign of eq. (16).")
@click.option("--out", type=Picture(), help="Draw the Bode diagram and Fig. 5 into FILE.svg or FILE.png.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def pacc(
    beta1: float,
    beta2: float,
    rate: float,
    period: float,
    alpha: float | None,
    tau: float | None,
    timer: float | None,
    queue_unit: Unit,
    sign: Sign,
    out: Path | None,
    as_json: bool,
) -> None:
    """PACC's fluid model (sec. IV): transfer function (16), Bode margins, and Fig. 5 in the picture.

    Packets of --queue-unit have 1500 bytes, KB 1000.
    """
    from clearway.plan import pacc as fluid
    from clearway.plan import words

    if alpha is not None and (tau is not None or timer is not None):
        raise click.UsageError("--alpha and --tau or --timer: alpha* follows from those two; give it or them")
    if alpha is None:
        alpha = fluid.alpha_star(tau or 1e-6, timer or 300e-6)
        if alpha > 1:
            raise click.UsageError(f"--tau and --timer give an alpha* of {alpha:.3g}: DCQCN's alpha is at most 1")
    loop = fluid.Loop(beta1, beta2, rate, period, alpha, queue_unit, sign)
    found = loop.margins()
    if as_json:
        print_json(
            {
                **vars(loop),
                "K": loop.gain,
                "z_rad_s": loop.zero,
                "gain_crossover_rad_s": found.crossover_rad_s,
                "phase_margin_deg": found.phase_deg,
                "phase_margin_by_hand_deg": fluid.closed_form_deg(loop, found.crossover_rad_s),
                "phase_crossover_rad_s": found.phase_crossover_rad_s,
                "gain_margin_db": found.gain_db,
                "growing_root_per_s": loop.growth() if sign == "printed" else None,
                "stable_by_bode": found.phase_deg > 0,
                "words": words.pacc(loop),
            }
        )
    else:
        say(words.pacc(loop))
        rows = [[name, printed, source] for name, printed, source in pacc_rows(loop, found)]
        print_texts(console(), (["", "value", "where from"], rows), left=1)
    draw(out, as_json, lambda pictures: pictures.pacc(loop))


def pacc_rows(loop: fluid.Loop, found: fluid.Margins) -> list[tuple[str, str, str]]:
    """The margins of the loop as rows of text."""
    from clearway.plan import pacc as fluid

    none = found.gain_db != found.gain_db
    formula = "90 + atan(w/z) - 2wT" if loop.sign == "printed" else "-90 + atan(w/z) - 2wT"
    return [
        ("alpha*", f"{loop.alpha:.5f}", "sqrt(2 tau' / (3 T_i)), Appendix A"),
        ("K", f"{loop.gain:.4g}", f"C beta1 alpha* / (2 T^2), Q in {loop.unit}"),
        ("z", f"{units.digits(loop.zero)} rad/s", "beta1 / ((beta2 + beta1/2) T)"),
        ("gain crossover w", f"{units.digits(found.crossover_rad_s)} rad/s", "|G| = 1"),
        ("phase margin", f"{found.phase_deg:+,.1f} deg", "response of (16) at w"),
        ("by hand", f"{fluid.closed_form_deg(loop, found.crossover_rad_s):+,.1f} deg", formula),
        ("gain margin", units.NONE if none else f"{found.gain_db:+.1f} dB", "where the phase passes -180 deg"),
    ]


@stability.command("expresspass", epilog=EXPRESSPASS_EXAMPLES)
@click.option("--flows", type=click.IntRange(2, 10_000), required=True, help="Number N of flows, 2 or more.")
@click.option(
    "--w-min", type=Number(0, 1, open_low=True), default=0.01, show_default=True, help="Least aggressiveness w."
)
@click.option(
    "--w-max", type=Number(0, 1, open_low=True), default=0.5, show_default=True, help="Largest aggressiveness w."
)
@click.option(
    "--target-loss",
    type=Number(0, 0.9),
    default=0.1,
    show_default=True,
    help="Share of credits whose loss is accepted.",
)
@click.option(
    "--alpha", type=Number(0, 1, open_low=True), default=0.0625, show_default=True, help="First rate / max_rate."
)
@click.option(
    "--w-init", type=Number(0, 1, open_low=True), default=0.0625, show_default=True, help="First aggressiveness w."
)
@click.option(
    "--periods", type=click.IntRange(4, 10_000), default=100, show_default=True, help="Number of update periods."
)
@click.option(
    "--start",
    type=Choice(STARTS),
    default="together",
    show_default=True,
    help="Start of the flows: all at once, or one that joins others that have settled.",
)
@click.option("--simulate", is_flag=True, help="Run as many flows in the simulator beside the model.")
@click.option(
    "--feedback",
    type=Choice(get_args(Feedback)),
    help="Reading of the decrease in the simulator.  [default: sigcomm17-printed, which the model has]",
)
@click.option("--out", type=Picture(), help="Draw rates and steps into FILE.svg or FILE.png.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def expresspass(
    flows: int,
    w_min: float,
    w_max: float,
    target_loss: float,
    alpha: float,
    w_init: float,
    periods: int,
    start: Start,
    simulate: bool,
    feedback: Feedback | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """ExpressPass's discrete model (sec. 4): synchronised flows over one link, update by update.

    --simulate runs them in the simulator too: a dumbbell of 10 Gbps with a base round trip of 52 us, all other
    parameters of the transport at their defaults.
    """
    from clearway.plan import expresspass as discrete
    from clearway.plan import words

    if not w_min <= w_init <= w_max:
        raise click.UsageError(f"w_min {w_min:g}, w_init {w_init:g}, w_max {w_max:g}: write w_min <= w_init <= w_max")
    if flows * periods > 10_000_000:
        raise click.UsageError(f"{flows} flows over {periods} periods: at most 10,000,000 rates; ask for fewer periods")
    if feedback and not simulate:
        raise click.UsageError(f"--feedback {feedback}: it is of the simulator; add --simulate")
    if simulate and flows * periods > 100_000:
        raise click.UsageError(f"--simulate with {flows} flows over {periods} periods: at most 100,000 rates")
    parameters = discrete.Parameters(flows, w_min, w_max, target_loss, alpha, w_init)
    model = discrete.trajectory(parameters, periods, start)
    simulated = None
    if simulate:
        from clearway.plan import beside

        try:
            simulated = beside.simulate(parameters, periods, start, feedback or "sigcomm17-printed")
        except beside.InterruptedRunError:
            raise click.Abort from None
    if as_json:
        print_json(expresspass_json(model, simulated))
    else:
        say(words.expresspass(model, simulated))
        print_texts(console(), expresspass_texts(model), left=0)
    draw(out, as_json, lambda pictures: pictures.expresspass(model, simulated))


def expresspass_json(model: discrete.Trajectory, simulated: discrete.Floats | None) -> dict[str, Any]:
    """Everything, with a list per period of the rates and w of the flows."""
    from clearway.plan import words

    p = model.parameters
    return {
        **vars(p),
        "unit": "max_rate",
        "C": p.capacity,
        "even_fixed_point": p.fair,
        "odd_fixed_point": p.odd,
        "d_star": p.d_star,
        "alternates": p.alternates,
        "first_within_10_percent": model.first_within,
        "settled": model.settled,
        "w_jumps_every": model.repeats_every,
        "rates": model.rates.tolist(),
        "w": model.w.tolist(),
        "d": model.steps.tolist(),
        "simulated_rates": None if simulated is None else simulated.tolist(),
        "words": words.expresspass(model, simulated),
    }


def expresspass_texts(model: discrete.Trajectory) -> tuple[list[str], list[list[str]]]:
    """The first periods and the last ones."""
    p, periods = model.parameters, len(model.rates) - 1
    shown = sorted({*range(min(periods, 10) + 1), *range(max(periods - 3, 0), periods + 1)})
    rows = []
    for t in shown:
        shares = model.rates[t] / p.fair
        step = "start" if t == 0 else "increase" if model.increased[t] else "decrease"
        d = units.NONE if t == 0 else f"{model.steps[t - 1].max() / p.d_star:.2f}"
        lost = max(0.0, 1 - 1 / float(model.rates[t].sum()))
        rows.append(
            [
                str(t),
                step,
                f"{shares.min():.3f}",
                f"{shares.max():.3f}",
                f"{model.w[t].max():.4f}",
                d,
                units.share(lost),
            ]
        )
    return ["period", "update", "least R/(C/N)", "largest R/(C/N)", "largest w", "D(t)/D*", "credit loss"], rows


def say(paragraphs: list[str]) -> None:
    """Prints what there is to say; the first sentence is the answer."""
    out = console()
    for number, paragraph in enumerate(paragraphs):
        out.print(paragraph, style="bold" if number == 0 else None, markup=False)
        out.print()


def draw(out: Path | None, quiet: bool, figure: Any) -> None:
    """Draws the picture, if one was asked for."""
    if out is None:
        return
    from clearway.plan import pictures

    try:
        pictures.save(lambda: figure(pictures), out)
    except OSError as error:
        raise click.UsageError(f"--out {out}: {error.strerror}") from None
    notes(quiet=quiet).print(f"Picture: {out}", markup=False)
