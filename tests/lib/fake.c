/* SPDX-License-Identifier: MIT */
#include "fake.h"

static struct fake_op op_of(const struct fake *fake, size_t i)
{
	struct fake_op op = {.ns = fake->ns};
	if (fake->tell)
		fake->tell(&fake->specs[i], &op);
	return op;
}

static int prepare(struct xr_target *target, const struct xr_effort *effort, const struct xr_spec *specs, size_t n,
                   struct xr_reading *out, struct xr_error *err)
{
	struct fake *fake = (struct fake *)target;
	fake->specs = specs;
	fake->calls++;
	fake->samples_asked = effort->samples;
	if (fake->raise)
		*fake->raise = 1;
	if (fake->lost)
		return xr_fail(err, XR_EXIT_TARGET, "%s", fake->lost);
	for (size_t i = 0; i < n && fake->refused; i++)
		out[i] = (struct xr_reading){.status = XR_READ_FAILED, .refused = true, .reason = fake->refused};
	for (size_t i = 0; i < n; i++)
		out[i].look.calls = op_of(fake, i).calls;
	return 0;
}

static int rounds(struct xr_target *target, const size_t *idx, size_t k, int n, struct xr_raw_list *lists,
                  struct xr_reading *out, struct xr_error *err)
{
	const struct fake *fake = (const struct fake *)target;
	(void)out;
	(void)err;
	for (size_t j = 0; j < k; j++) {
		const struct fake_op op = op_of(fake, idx[j]);
		for (int i = 0; i < n; i++) {
			const double ns = op.ns * (1 + op.sway * (i % 3) / 2);
			xr_raw_add(&lists[idx[j]], (struct xr_raw){.long_ns = 2000 * ns,
			                                           .long_ops = 2000,
			                                           .short_ns = 1000 * ns,
			                                           .short_ops = 1000,
			                                           .ref_ns = fake->cycle_ns});
		}
	}
	return 0;
}

static void nothing(struct xr_target *target)
{
	(void)target;
}

static const struct xr_backend backend = {.prepare = prepare, .rounds = rounds, .free = nothing};

void fake_init(struct fake *fake)
{
	*fake = (struct fake){.ns = 1, .cycle_ns = 0.5};
	xr_target_init(&fake->target, &backend);
	fake->target.info = (struct xr_target_info){
		.kind = "simulated",
		.name = "fake",
		.cpu = "",
		.compiler = "none",
		.cflags = "",
		.os = "",
		.n_cpus = 1,
		.has_flavour = {true, false},
		.kinds = 1u << XR_CLOCK | 1u << XR_OPS | 1u << XR_CHAIN,
	};
}

void fake_release(struct fake *fake)
{
	xr_target_deinit(&fake->target);
}
