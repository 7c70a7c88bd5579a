# SPDX-License-Identifier: MIT
# expect: reject helper_unknown 2
lddw map_value %r1, @bss, 0
call 93 # near: call 5
mov %r0, 0
exit
