# SPDX-License-Identifier: MIT
# golden
# expect: reject lock_none 2
# opts: held
lddw map_value %r1, @bss, 0
call 93
mov %r0, 0
exit
