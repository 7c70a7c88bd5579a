# SPDX-License-Identifier: MIT
# expect: reject arg_scalar 3
mov %r3, %r1 # near: mov %r3, 0
lddw map %r2, @loose
call 12
mov %r0, 0
exit
