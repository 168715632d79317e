/* SPDX-License-Identifier: MIT */
/* The machine's quality before and after the run, reported once. */
#ifndef XR_ENGINE_QUALITY_H
#define XR_ENGINE_QUALITY_H

#include "engine/run.h"

/* Called when all micro-benchmarks have run. When `noise` was among them and is not alone, it runs once more: its
 * facts become the worse of before and after and say both; where CPUs were moved meanwhile, what is said of cores
 * is in doubt. Other facts are not touched: engines judge their own samples, and what their confidence is worth
 * under noise is measured (docs/calibration.md). */
void xr_quality_after(struct xr_run *run, const enum xr_end *ends);

#endif
