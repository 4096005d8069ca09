/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Marks of the public interface: what is exported, what may still change.
 *
 * WEIR_API           exported from libweir, listed in weir.map, kept stable within a major version
 * WEIR_EXPERIMENTAL  exported, but outside that promise
 */
#ifndef WEIR_API_H
#define WEIR_API_H

#define WEIR_API          __attribute__((visibility("default")))
#define WEIR_EXPERIMENTAL __attribute__((visibility("default")))

#ifdef __cplusplus
#define WEIR_BEGIN_DECLS extern "C" {
#define WEIR_END_DECLS   }
#else
#define WEIR_BEGIN_DECLS
#define WEIR_END_DECLS
#endif

#endif /* WEIR_API_H */
