# SPDX-License-Identifier: MIT
# golden
# expect: reject arg_null 3
lddw map %r1, @counts
mov %r2, 0 # near: mov %r2, %r10
# near: add %r2, -4
# near: stw [%r10-4], 0
call 1
mov %r0, 0
exit
