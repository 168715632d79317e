/* SPDX-License-Identifier: MIT */
/* The frame around generated nano-benchmarks: types, barriers, markers. */
#ifndef XR_AGENT_NANO_H
#define XR_AGENT_NANO_H

#include <limits.h>

typedef signed char XR_i8;
typedef short XR_i16;
#if INT_MAX < 2147483647
typedef long XR_i32;
typedef unsigned long XR_ui32;
#else
typedef int XR_i32;
typedef unsigned XR_ui32;
#endif
#if defined(__GNUC__)
__extension__
#endif
typedef long long XR_i64;
typedef unsigned char XR_ui8;
typedef unsigned short XR_ui16;
#if defined(__GNUC__)
__extension__
#endif
typedef unsigned long long XR_ui64;
typedef float XR_f32;
typedef double XR_f64;

/* What a branch jumps over: cannot be done without the branch. */
static volatile int xr_turned;
#define XR_TURN() (xr_turned = 1)
/* Takes long: about a hundred cycles. */
#if defined(__GNUC__)
__attribute__((noinline, unused))
#endif
static void xr_linger(void)
{
	int i;
	for (i = 0; i < 20; i++)
		xr_turned = xr_turned + 1;
}
#define XR_LINGER() xr_linger()

#if defined(__GNUC__) && !defined(XR_PLAIN_C)

typedef float XR_v16f32 __attribute__((vector_size(16)));
typedef double XR_v16f64 __attribute__((vector_size(16)));
typedef int XR_v16i32 __attribute__((vector_size(16)));
typedef unsigned XR_uv16i32 __attribute__((vector_size(16)));
typedef float XR_v32f32 __attribute__((vector_size(32)));
typedef double XR_v32f64 __attribute__((vector_size(32)));
typedef int XR_v32i32 __attribute__((vector_size(32)));
typedef unsigned XR_uv32i32 __attribute__((vector_size(32)));
typedef float XR_v64f32 __attribute__((vector_size(64)));
typedef double XR_v64f64 __attribute__((vector_size(64)));
typedef int XR_v64i32 __attribute__((vector_size(64)));
typedef unsigned XR_uv64i32 __attribute__((vector_size(64)));
#define XR_SHUFFLE_2(v) __builtin_shufflevector(v, v, 1, 0)
#define XR_SHUFFLE_4(v) __builtin_shufflevector(v, v, 1, 0, 3, 2)
#define XR_SHUFFLE_8(v) __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6)
#define XR_SHUFFLE_16(v) __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)

#define XR_NANO __attribute__((noinline, noclone))
#if defined(__clang__)
#undef XR_NANO
#define XR_NANO __attribute__((noinline))
#define XR_NANO_MIN XR_NANO
#else
/* gcc takes every other fp minimum apart into compare and mask unless it may ignore NaN and -0 */
#define XR_NANO_MIN __attribute__((noinline, noclone, optimize("finite-math-only", "no-signed-zeros")))
#endif
/* Labels, not comments: every assembler reads them. They mark the timed loop for the look at the compiled code. */
#define XR_BEGIN(id) __asm__ volatile("xr_begin_" id "_%=:" : :)
#define XR_END(id) __asm__ volatile("xr_end_" id "_%=:" : :)
/* The middle half of the loop's body, without what compilers do at its ends. Numbered, all of them, in case the
 * compiler unrolls the loop or writes its end twice. */
#define XR_MIDDLE(id) __asm__ volatile("xr_middle_" id "_%=:" : :)
#define XR_LAST(id) __asm__ volatile("xr_last_" id "_%=:" : :)
/* The value passes through an asm that might change it: the statement before must be done, and in a register. */
#define XR_KEEP_I(v) __asm__ volatile("" : "+r"(v))
#if defined(__x86_64__) || defined(__SSE2__)
#define XR_KEEP_F(v) __asm__ volatile("" : "+v"(v))
#elif defined(__i386__) /* the top of the x87's stack: the only place of it that an asm may name */
#define XR_KEEP_F(v) __asm__ volatile("" : "+t"(v))
#elif defined(__aarch64__)
#define XR_KEEP_F(v) __asm__ volatile("" : "+w"(v))
#elif defined(__arm__) && defined(__ARM_FP)
#define XR_KEEP_F(v) __asm__ volatile("" : "+w"(v))
#elif defined(__riscv) && defined(__riscv_flen)
#define XR_KEEP_F(v) __asm__ volatile("" : "+f"(v))
#elif defined(__powerpc64__)
#define XR_KEEP_F(v) __asm__ volatile("" : "+wa"(v))
#elif defined(__s390x__)
#define XR_KEEP_F(v) __asm__ volatile("" : "+f"(v))
#else /* soft float, or an architecture not met yet: general registers hold it */
#define XR_KEEP_F(v) __asm__ volatile("" : "+r"(v))
#endif
#define XR_SQRT_f32(v) __builtin_sqrtf(v)
#define XR_SQRT_f64(v) __builtin_sqrt(v)

#else /* any C compiler */

#include <math.h>
#define XR_NANO
#define XR_NANO_MIN
#define XR_SQRT_f32(v) ((float)sqrt(v))
#define XR_SQRT_f64(v) sqrt(v)

#endif

#endif
