# SPDX-License-Identifier: MIT
# golden
# expect: reject arg_memory 3
mov %r2, %r1 # near: mov %r2, %r10
# near: add %r2, -4
# near: stw [%r10-4], 0
lddw map %r1, @counts
call 1
mov %r0, 0
exit
