/* The machine's quality before and after the run, reported once and folded into the confidences. */
#ifndef XR_ENGINE_QUALITY_H
#define XR_ENGINE_QUALITY_H

#include "engine/run.h"

/* Called when all micro-benchmarks have run. When `noise` was among them and is not alone, it runs once more: its facts
 * become the worse of before and after and say both, and all other facts are a little less sure the more time others
 * took. */
void xr_quality_after(struct xr_run *run, const enum xr_end *ends);

#endif
