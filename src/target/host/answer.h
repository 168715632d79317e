/* SPDX-License-Identifier: MIT */
/* What an agent says, line by line (agent/agent.c has the words). It may be a stranger behind a runner, who says other
 * things besides (NONE); an answer about a specification that nobody asked for, or a part of one, is WRONG: then no other
 * answer of it is to be believed. */
#ifndef XR_TARGET_HOST_ANSWER_H
#define XR_TARGET_HOST_ANSWER_H

#include "agent/count.h"
#include "target/backend.h"

enum xr_answer_kind {
	XR_ANSWER_NONE,
	XR_ANSWER_WRONG,
	XR_ANSWER_TRY,
	XR_ANSWER_READY,
	XR_ANSWER_BAD,
	XR_ANSWER_SAMPLE,
	XR_ANSWER_EVENTS,
	XR_ANSWER_DONE
};

struct xr_answer {
	size_t index;             /* TRY, READY, BAD, SAMPLE, EVENTS: of the specification, below the number asked about */
	double code_bytes;        /* READY */
	bool unsupported;         /* BAD: this target has no such thing */
	const char *reason;       /* BAD: part of the line */
	struct xr_raw raw;        /* SAMPLE: as it was said, see target/border.h */
	double event[XR_COUNTERS]; /* EVENTS: as agent/count.h orders them; -1: not counted */
	double left_ns, quiet_ns; /* DONE: of what it was given to wait, left */
	int cpu;                  /* DONE: where it is */
	unsigned long turn;       /* DONE: how many times it has been since it was started */
};

/* Events of a specification. The first level's misses are those of data or of code; what was not counted says so. */
void xr_answer_events(const struct xr_spec *spec, const struct xr_answer *answer, struct xr_events *events);

enum xr_answer_kind xr_answer_read(const char *line, size_t n_asked, struct xr_answer *answer);

#endif
