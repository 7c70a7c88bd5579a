// SPDX-License-Identifier: MIT
/*
 * One row for each word that the templates of core/defs may have in braces.
 *
 *   name    the word in braces
 *   facts   the members of struct nb_refusal that the word is made of
 *   text    expression for the word, given @env and the refusal @x
 */
// clang-format off
/* The columns are name, facts and text. */
WORD(r,           "reg",               nb_say(env, "r%d", x->reg))
WORD(value,       "st reg",            nb_say_reg(env, reg_of(x), x->reg))
WORD(pointer,     "pointer",           nb_say_reg(env, x->pointer, -1))
WORD(place,       "pointer off",       nb_say_place(env, x->pointer, x->off))
WORD(at,          "pointer off",       say_at(env, x))
WORD(number,      "number",            nb_say(env, "%lld", (long long)x->number))
WORD(to,          "to",                nb_say(env, "%lld", (long long)x->to))
WORD(size,        "size",              nb_say(env, "%" PRIu64, x->size))
WORD(limit,       "limit",             nb_say(env, "%" PRIu64, x->limit))
WORD(count,       "count",             nb_say(env, "%" PRIu64, x->count))
WORD(bytes,       "size",              say_bytes(env, x->size))
WORD(room,        "limit",             say_bytes(env, x->limit))
WORD(last_offset, "size limit",        nb_say(env, "%" PRIu64, x->limit - x->size))
WORD(span,        "off",               nb_say_span(env, x->off->smin, x->off->smax))
WORD(first,       "off",               nb_say(env, "%lld", (long long)x->off->smin))
WORD(last,        "off size",          say_last(env, x))
WORD(name,        "name",              x->name ? x->name : "")
WORD(text,        "text",              x->text)
WORD(where,       "where",             nb_say_where(env, x->where))
WORD(slot,        "pc",                nb_say(env, "%u", x->pc))
WORD(insn,        "pc",                nb_spec_insn(env->program.insns[x->pc].op)->mnemonic)
WORD(width,       "pc",                nb_say(env, "%d", env->program.insns[x->pc].width))
WORD(ctx,         "",                  env->program.hook->ctx_struct)
WORD(hook,        "",                  env->program.hook->word)
WORD(helper,      "helper",            nb_say(env, "bpf_%s", x->helper->name))
WORD(argument,    "arg",               say_argument(x->arg))
WORD(map,         "map",               nb_map_name(env, x->map))
WORD(map_type,    "map",               nb_spec_map_type(env->program.img->maps[x->map].type)->word)
WORD(map_types,   "helper",            say_map_types(env, x->helper))
WORD(part,        "part",              x->part == NB_NAME_KEY ? "key" : "value")
WORD(type,        "map part",          nb_say_type(env, x->map, x->part))
WORD(of_type,     "map part",          say_of_type(env, nb_say_type(env, x->map, x->part)))
WORD(struct_type, "map part",          say_struct(nb_say_type(env, x->map, x->part)))
WORD(ref,         "ref",               nb_say_ref(env, x->ref))
WORD(frame,       "st reg",            is_own_frame(x) ? "" : " (in the caller's frame)")
WORD(chain,       "chain count",       say_chain(env, x))
WORD(loop,        "where",             say_loop(env, x->where))
WORD(exit,        "where",             say_exit(env, x->where))
WORD(arrivals,    "count to",          say_arrivals(env, x))
WORD(branch,      "to size",           say_branch(env, x))
WORD(simpler,     "to where",          say_simpler(env, x))
WORD(change,      "was is number",     say_change(env, x))
WORD(memory,      "st reg limit",      say_memory(env, x))
WORD(access,      "st reg off size",   say_access(env, x))
WORD(bound,       "st reg off size limit", say_bound(env, x))
WORD(variable,    "pc reg",            say_variable(env, x))
WORD(declared,    "pc reg",            say_declared(env, x))
WORD(missing,     "number to",         say_missing_bytes(env, x))
WORD(member,      "map part number",   say_member(env, x))
WORD(too_small,   "map part size number to", say_too_small(env, x))

#undef WORD
