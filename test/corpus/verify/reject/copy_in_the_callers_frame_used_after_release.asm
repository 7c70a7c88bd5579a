# SPDX-License-Identifier: MIT
# golden
# expect: reject use_after_release 9
reserve 16
jeq %r0, 0, out
mov %r6, %r0
mov %r1, %r0
call local f # near:
stdw [%r6], 1
# near: call local f
out:
mov %r0, 0
exit
f:
mov %r2, 0
call 132
mov %r0, 0
exit
