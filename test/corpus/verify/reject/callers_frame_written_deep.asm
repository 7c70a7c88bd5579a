# SPDX-License-Identifier: MIT
# A byte that a callee writes in the frame of its caller counts for the caller,
# whoever else it calls.
# expect: reject stack_depth 8
mov %r1, %r10
call local f
call local g
mov %r0, 0
exit
f:
stdw [%r1-320], 0 # near: stdw [%r1-256], 0
mov %r0, 0
exit
g:
stdw [%r10-256], 0
mov %r0, 0
exit
