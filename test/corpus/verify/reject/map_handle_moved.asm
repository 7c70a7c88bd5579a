# SPDX-License-Identifier: MIT
# golden
# expect: reject handle_arith 2
lddw map %r1, @counts # near: lddw map_value %r1, @bss, 0
add %r1, 8
mov %r0, 0
exit
