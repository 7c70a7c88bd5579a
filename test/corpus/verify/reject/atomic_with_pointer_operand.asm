# SPDX-License-Identifier: MIT
# golden
# expect: reject atomic_value 7
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
# near: mov %r1, 1
lock xchg [%r0], %r10 # near: lock xchg [%r0], %r1
out:
mov %r0, 0
exit
