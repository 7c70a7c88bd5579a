# SPDX-License-Identifier: MIT
# expect: reject object_read 10
iter_new -8, 0, 4
stw [%r10-20], 0
lddw map %r1, @counts
mov %r2, %r10
add %r2, -6 # near: add %r2, -20
call 1
iter_end -8
mov %r0, 0
exit
