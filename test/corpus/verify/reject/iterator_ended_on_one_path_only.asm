# SPDX-License-Identifier: MIT
# expect: reject iterator_leak 11
ldxw %r6, [%r1+28]
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 4
call 0x10001 # near: jeq %r6, 8, out
jeq %r6, 8, out # near: call 0x10001
iter_end -8
