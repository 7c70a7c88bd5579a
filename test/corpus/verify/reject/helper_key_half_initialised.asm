# SPDX-License-Identifier: MIT
# expect: reject stack_uninit 5
sth [%r10-4], 0 # near: stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
mov %r0, 0
exit
