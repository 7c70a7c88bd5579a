# SPDX-License-Identifier: MIT
# expect: accept
find @counts
ldxdw %r1, [%r0]
jle %r1, 63, ok
mov %r1, 63
ok:
add %r0, %r1
ldxb %r2, [%r0]
