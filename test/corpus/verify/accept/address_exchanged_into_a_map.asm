# SPDX-License-Identifier: MIT
# expect: accept
find @counts
mov %r1, %r10
lock xchg [%r0], %r1
