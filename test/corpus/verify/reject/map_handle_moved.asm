# SPDX-License-Identifier: MIT
# golden
# expect: reject handle_arith 2
lddw map %r1, @counts
add %r1, 8
mov %r0, 0
exit
