# SPDX-License-Identifier: MIT
# expect: reject not_pointer 8
ldxw %r3, [%r1+28]
iter_over -8, 0
iter_next -8
# near: jeq %r0, 0, out
ldxw %r6, [%r0]
# near: out:
iter_end -8
mov %r0, 0
exit
