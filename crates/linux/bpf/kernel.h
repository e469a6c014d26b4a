/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-or-later */
/*
 * The few types, helpers and kernel functions that the BPF programs of Clearway use.
 *
 * Structures of the kernel list only the fields that a program reads. Clang records each access (`RELOCATED`), and
 * libbpf moves it to where the running kernel has the field, so one object fits all kernels that have the field.
 */
#ifndef CLEARWAY_KERNEL_H
#define CLEARWAY_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef int __s32;
typedef long long __s64;

#define SEC(name) __attribute__((section(name), used))
#define KSYM __attribute__((section(".ksyms")))
#define RELOCATED __attribute__((preserve_access_index))
#define INLINE static inline __attribute__((always_inline))

#define MAP_UINT(name, value) int(*name)[value]
#define MAP_TYPE(name, type) type *name

/* The id of a type in the running kernel's BTF. */
#define KERNEL_TYPE(type) __builtin_btf_type_id(*(type *)0, 1)
/* The offset of a field in the running kernel. */
#define KERNEL_OFFSET(type, field) __builtin_preserve_field_info(((type *)0)->field, 0)

#endif
