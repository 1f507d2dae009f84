"""Exact leave-one-out predictions of forests of dependence: K + 1 determinants for each row."""

from __future__ import annotations

import numpy as np

from bayesnb.arrays.host_calls import finalise
from bayesnb.arrays.placement import Array, to_host
from bayesnb.arrays.threads import in_threads, row_blocks
from bayesnb.families.parts.pair_left_out import prepare_left_out
from bayesnb.families.parts.pair_predictive import log_ratios
from bayesnb.families.parts.pair_segments import join_cells
from bayesnb.results.forests import ForestPosterior, joined_pairs, pair_cells, prepare_ratios
from bayesnb.rows.labelled_rows import LabelledRows

BLOCK_BYTES = 1 << 23
"""Bytes of the log ratios of a block of rows: numpy's hundreds of operations cost more than a cache that is missed."""


def left_out_ratios(fit: ForestPosterior, rows: LabelledRows, weight: Array) -> Array:
    """log Z(w r_k(x_i)) / Z(w) of each row and class, [N, K], where neither w nor r_k have seen the row.

    Without it the evidence of an edge is w_ij / r_ij(x_i), with r of the row's own class. For numpy rows of the fit, of
    which each leaves with this ``weight`` [N].
    """
    fit = to_host(fit)
    cells = join_cells(pair_cells(rows.families, rows.arrays), fit.segments)
    y = rows.labels.y
    layout, tables, combine = prepare_ratios(fit)
    left_out = prepare_left_out(*finalise(joined_pairs, fit.posterior.prior, fit.pairs, segments=fit.segments))
    out = np.empty((len(cells), rows.num_classes))

    def part(some: slice) -> None:
        ratios = np.array(log_ratios(tables, layout, cells[some]))
        removed, own = left_out(cells[some], y[some], weight[some])
        ratios[np.arange(len(own)), y[some]] = own
        out[some] = combine(ratios, removed[:, None])

    row_bytes = 8 * (rows.num_classes + 2) * max(cells.shape[1], 1) ** 2
    in_threads(part, row_blocks(len(cells), row_bytes, block_bytes=BLOCK_BYTES))
    return out
