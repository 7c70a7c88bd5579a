# SPDX-License-Identifier: MIT
# expect: accept
find @counts
mov %r6, %r0
mov %r1, 1
lock add [%r0+8], %r1
lock or [%r0+8], %r1
lock and [%r0+8], %r1
lock xor [%r0+8], %r1
lock fetch add [%r0+8], %r1
lock fetch or [%r0+8], %r1
lock fetch and [%r0+8], %r1
lock fetch xor [%r0+8], %r1
lock xchg [%r0+8], %r1
lock add32 [%r0+8], %r1
lock or32 [%r0+8], %r1
lock and32 [%r0+8], %r1
lock xor32 [%r0+8], %r1
lock fetch add32 [%r0+8], %r1
lock fetch or32 [%r0+8], %r1
lock fetch and32 [%r0+8], %r1
lock fetch xor32 [%r0+8], %r1
lock xchg32 [%r0+8], %r1
mov %r0, 0
lock cmpxchg [%r6+8], %r1
mov %r0, 0
lock cmpxchg32 [%r6+12], %r1
