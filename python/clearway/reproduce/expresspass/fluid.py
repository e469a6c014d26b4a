"""Algorithm 1 of the paper without packets, to see what the age of its feedback does."""

from __future__ import annotations

W_MIN, W_MAX, TARGET_LOSS = 0.01, 0.5, 0.1


def utilisation(flows: int, lag: int, *, matched: bool = False, updates: int = 2000, alpha: float = 0.5) -> float:
    """Share of a bottleneck's credit rate that flows with synchronous updates use, after a quarter of the updates.

    One flow starts at its limit, the others at `alpha`, with w = 1/2. The loss that an update sees is that of the
    rates `lag` periods ago: 0 as in section 4 of the paper, 1 where an update period is a round trip. `matched`: a
    decrease applies to those rates. Each flow passes a limiter of its own of the bottleneck's rate first; rates are
    its multiples.
    """
    rates, w, increased = [1.0 + TARGET_LOSS] + [alpha] * (flows - 1), [W_MAX] * flows, [False] * flows
    past = [rates] * (lag + 1)
    used = 0.0
    for update in range(updates):
        seen = past[-1 - lag]
        share = min(1.0, 1.0 / sum(min(rate, 1.0) for rate in seen))
        rates = list(rates)
        for flow, rate in enumerate(seen):
            loss = 1.0 - min(rate, 1.0) * share / rate
            if loss <= TARGET_LOSS + 1e-12:
                if increased[flow]:
                    w[flow] = (w[flow] + W_MAX) / 2
                rates[flow] += w[flow] * (1.0 + TARGET_LOSS - rates[flow])
            else:
                base = rate if matched else rates[flow]
                rates[flow] = min(rates[flow], base * (1.0 - loss) * (1.0 + TARGET_LOSS))
                w[flow] = max(w[flow] / 2, W_MIN)
            increased[flow] = loss <= TARGET_LOSS + 1e-12
        past = [*past[-lag:], rates] if lag else [rates]
        used += min(1.0, sum(min(rate, 1.0) for rate in rates)) if update >= updates // 4 else 0.0
    return used / (updates - updates // 4)
