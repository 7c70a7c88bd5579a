# SPDX-License-Identifier: MIT
# golden
# expect: reject release_other 3
lddw map_value %r1, @bss, 0
mov %r2, 0
call 132 # near:
mov %r0, 0
exit
