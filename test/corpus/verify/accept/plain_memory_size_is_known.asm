# SPDX-License-Identifier: MIT
# expect: accept
# opts: mem=32
mov %r3, %r1
add %r3, %r2
ldxb %r0, [%r3-1]
exit
