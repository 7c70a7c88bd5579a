// SPDX-License-Identifier: MIT
/*
 * The stat family for glibc before 2.33, which lacks these functions: its
 * header inlines calls of __xstat. Our functions are hidden, so each
 * library has its own copy.
 */
#include <sys/stat.h>

#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__)) && \
	!defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* On these machines struct stat has the kernel's layout. */
int fstatat(int dir, const char *restrict path, struct stat *restrict st, int flags)
{
	return (int)syscall(SYS_newfstatat, dir, path, st, flags);
}

int fstat(int fd, struct stat *st)
{
	return (int)syscall(SYS_fstat, fd, st);
}

int stat(const char *restrict path, struct stat *restrict st)
{
	return fstatat(AT_FDCWD, path, st, 0);
}

int lstat(const char *restrict path, struct stat *restrict st)
{
	return fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}
#endif
