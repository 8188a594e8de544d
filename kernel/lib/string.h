/* The memory and string functions of the C standard that the image needs, with the
 * standard's names and meanings. On the host, the C library provides them. */
#ifndef KERNEL_LIB_STRING_H
#define KERNEL_LIB_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memchr(const void *p, int byte, size_t n);
size_t strlen(const char *s);
size_t strnlen(const char *s, size_t n);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);

/* A freestanding compiler does not treat these names specially. With the built-in names, it
 * replaces small constant sizes by one or two move instructions. */
#if !__STDC_HOSTED__ && !defined STRING_BODIES
#define memcpy(to, from, n) __builtin_memcpy((to), (from), (n))
#define memset(to, byte, n) __builtin_memset((to), (byte), (n))
#define memcmp(a, b, n)     __builtin_memcmp((a), (b), (n))
#endif

#endif
