# SPDX-License-Identifier: MIT
# expect: accept
# opts: mem=32
ldxdw %r0, [%r1+24]
add %r0, %r2
exit
