# SPDX-License-Identifier: MIT
# expect: reject uninit 2
stdw [%r10-8], 0
mov %r1, 1
# near: mov %r0, 0
lock cmpxchg [%r10-8], %r1
mov %r0, 0 # near:
exit
