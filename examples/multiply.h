/* SPDX-License-Identifier: MIT
 *
 * C = C + A B, doubles, columns first, n × n. The loops are those of Goto and van de Geijn: blocks of kc × nc of B and
 * mc × kc of A are packed, so that they are read from the cache they were sized for, and a tile of MR × NR of C stays in
 * registers.
 */
#ifndef MULTIPLY_H
#define MULTIPLY_H

#include <xray.h>

#include <stddef.h>
#include <string.h>

#if defined(__AVX512F__) && !defined(LANES)
#define LANES 8
#elif defined(__AVX__) && !defined(LANES)
#define LANES 4
#elif !defined(LANES)
#define LANES 2
#endif
#ifndef MR
#define MR (2 * LANES)
#endif
#ifndef NR
#define NR 6
#endif
enum { VECTORS = MR / LANES };

typedef double vector __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));

static inline int least(int a, int b)
{
	return a < b ? a : b;
}

static void tile(int k, const double *a, const double *b, double *c, size_t ldc, int m, int n)
{
	vector acc[NR][VECTORS];
	memset(acc, 0, sizeof acc);
	for (int p = 0; p < k; p++, a += MR, b += NR)
		for (int j = 0; j < NR; j++)
			for (int i = 0; i < VECTORS; i++)
				acc[j][i] += *(const vector *)(a + i * LANES) * b[j];
	if (m == MR && n == NR) {
		for (int j = 0; j < NR; j++)
			for (int i = 0; i < VECTORS; i++)
				*(vector *)(c + (size_t)j * ldc + i * LANES) += acc[j][i];
		return;
	}
	for (int j = 0; j < n; j++) /* at the border */
		for (int i = 0; i < m; i++)
			c[(size_t)j * ldc + (size_t)i] += ((const double *)acc[j])[i];
}

/* Slivers of `width` rows of A, or columns of B, padded with zeros. */
static void pack(double *to, const double *from, size_t along, size_t across, int k, int count, int width)
{
	for (int s = 0; s < count; s += width)
		for (int p = 0; p < k; p++)
			for (int i = 0; i < width; i++)
				*to++ = s + i < count ? from[(size_t)(s + i) * across + (size_t)p * along] : 0;
}

/* packed_a and packed_b: room for multiply_room(n) doubles each. */
static inline size_t multiply_room(int n)
{
	size_t padded = (size_t)(n + MR + NR);
	return padded * padded;
}

static void multiply(int n, const double *a, const double *b, double *c, const struct xr_blocking *block,
                     double *packed_a, double *packed_b)
{
	size_t ld = (size_t)n;
	for (int jc = 0; jc < n; jc += block->nc) {
		int nc = least(block->nc, n - jc);
		for (int pc = 0; pc < n; pc += block->kc) {
			int kc = least(block->kc, n - pc);
			pack(packed_b, b + (size_t)jc * ld + (size_t)pc, 1, ld, kc, nc, NR);
			for (int ic = 0; ic < n; ic += block->mc) {
				int mc = least(block->mc, n - ic);
				pack(packed_a, a + (size_t)pc * ld + (size_t)ic, ld, 1, kc, mc, MR);
				for (int jr = 0; jr < nc; jr += NR)
					for (int ir = 0; ir < mc; ir += MR)
						tile(kc, packed_a + (size_t)ir * (size_t)kc,
						     packed_b + (size_t)jr * (size_t)kc,
						     c + (size_t)(jc + jr) * ld + (size_t)(ic + ir), ld,
						     least(MR, mc - ir), least(NR, nc - jr));
			}
		}
	}
}

#endif
