# SPDX-License-Identifier: MIT
# expect: accept
stdw [%r10-8], 0
mov %r1, 1
mov %r0, 0
lock cmpxchg [%r10-8], %r1
exit
