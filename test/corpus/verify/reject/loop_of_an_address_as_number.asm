# SPDX-License-Identifier: MIT
# golden
# expect: reject arg_scalar 4
mov %r3, 4
mov %r2, %r10 # near: mov %r2, 0
mov %r1, %r10
add %r1, -8
call 0x10001
iter_end -8
mov %r0, 0
exit
