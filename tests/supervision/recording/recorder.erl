%% Records what the real OTP supervisor does in scenarios; see record.py, which writes the input and reads the output.
%% A worker is a process that traps exits and writes down what happens to it. Table `st' holds counts, pids and plans.
-module(recorder).
-export([main/2, init/1, start_sup/3, start_worker/2, init_worker/5]).

main(In, Out) ->
    {ok, Scenarios} = file:consult(In),
    {ok, File} = file:open(Out, [write]),
    [io:format(File, "~s~n", [json(play(Scenario))]) || Scenario <- Scenarios],
    ok = file:close(File),
    halt(0).

play({Flags, Children, Prefail, Steps}) ->
    ets:new(st, [named_table, public]),
    register(diary, spawn(fun() -> diary([]) end)),
    ets:insert(st, [{top, none}, {exit, none}, {owner, none} | [{{fail, Id}, Hows} || {Id, Hows} <- Prefail]]),
    Trace = [step(Step, Flags, Children) || Step <- Steps],
    case top() of none -> ok; Top -> exit(Top, kill) end,
    timer:sleep(20),
    [exit(Pid, kill) || {{pid, _, _}, Pid} <- ets:tab2list(st)],
    exit(whereis(diary), kill),
    timer:sleep(20),
    ets:delete(st),
    Trace.

%% ---- the diary: events in order

diary(Events) ->
    receive
        {note, From, Event} -> From ! noted, diary([Event | Events]);
        {take, From} -> From ! {events, lists:reverse(Events)}, diary([]);
        {size, From} -> From ! {size, length(Events)}, diary(Events)
    end.

note(Event) -> diary ! {note, self(), Event}, receive noted -> ok end.
take() -> diary ! {take, self()}, receive {events, Events} -> Events end.
size() -> diary ! {size, self()}, receive {size, N} -> N end.

%% ---- children

spec(Child) ->
    #{id := Id} = Child,
    Spec = maps:with([id, restart, shutdown, significant], Child),
    case Child of
        #{sup := {Flags, Children}} ->
            Spec#{start => {?MODULE, start_sup, [Id, Flags, Children]}, type => supervisor};
        _ -> Spec#{start => {?MODULE, start_worker, [Id, maps:get(kind, Child, well_behaved)]}}
    end.

incarnation(Id) -> ets:update_counter(st, {incarnation, Id}, 1, {{incarnation, Id}, 0}).

how(Id) ->
    case ets:lookup(st, {fail, Id}) of
        [{Key, [How | Rest]}] -> ets:insert(st, {Key, Rest}), How;
        _ -> start
    end.

start_sup(Id, Flags, Children) ->
    N = incarnation(Id),
    note([sup_starting, Id, N]),
    Result = supervisor:start_link(?MODULE, {Id, N, Flags, Children}),
    note([case Result of {ok, _} -> sup_started; _ -> sup_start_failed end, Id, N]),
    Result.

init({Id, N, Flags, Children}) -> enlist(Id, N), {ok, {Flags, [spec(Child) || Child <- Children]}}.

start_worker(Id, Kind) ->
    N = incarnation(Id),
    case how(Id) of
        crash -> note([start_failed, Id, N]), exit(start_crash);
        How -> proc_lib:start_link(?MODULE, init_worker, [Id, N, Kind, How, self()])
    end.

init_worker(Id, N, _Kind, error, _Parent) -> note([start_failed, Id, N]), proc_lib:init_ack({error, refused});
init_worker(Id, N, _Kind, ignore, _Parent) -> note([start_ignored, Id, N]), proc_lib:init_ack(ignore);
init_worker(Id, N, Kind, start, Parent) ->
    process_flag(trap_exit, true),
    enlist(Id, N),
    note([started, Id, N]),
    proc_lib:init_ack({ok, self()}),
    work(Id, N, Kind, Parent).

work(Id, N, Kind, Parent) ->
    receive
        {crash, Reason} -> note([exited, Id, N, Reason]), exit(Reason);
        {'EXIT', Parent, Reason} when Kind =:= stubborn -> note([ignored_shutdown, Id, N, Reason]), work(Id, N, Kind, Parent);
        {'EXIT', Parent, Reason} when Kind =:= dirty -> note([stopped, Id, N, Reason]), exit(dirty);
        {'EXIT', Parent, Reason} -> note([stopped, Id, N, Reason]), exit(Reason)
    end.

enlist(Id, N) -> ets:insert(st, [{{pid, Id, N}, self()}, {{name, self()}, [Id, N]}]).

newest(Id) ->
    case [{N, Pid} || {{pid, I, N}, Pid} <- ets:tab2list(st), I =:= Id] of
        [] -> spawn(fun() -> ok end);
        Found -> element(2, lists:max(Found))
    end.

%% ---- steps

step(Step, Flags, Children) ->
    Reply = do(Step, Flags, Children),
    settle(size(), 0),
    Alive = lists:sort([[Id, N] || {{pid, Id, N}, Pid} <- ets:tab2list(st), is_process_alive(Pid)]),
    {Shown, State} =
        case top() of
            none -> {[], [exited, reason(ets:lookup_element(st, exit, 2))]};
            Top -> {[[Id, name(Pid)] || {Id, Pid, _, _} <- lists:reverse(supervisor:which_children(Top))], alive}
        end,
    {[{reply, Reply}, {events, take()}, {children, Shown}, {alive, Alive}, {sup, State}]}.

%% Quiet: the supervisor answers and nothing was noted five times in a row, 30 ms apart.
settle(_, 5) -> ok;
settle(Size, Times) ->
    case top() of none -> ok; Top -> catch supervisor:count_children(Top) end,
    timer:sleep(30),
    case size() of Size -> settle(Size, Times + 1); Other -> settle(Other, 0) end.

top() ->
    case ets:lookup_element(st, top, 2) of
        none -> none;
        Pid -> case is_process_alive(Pid) of true -> Pid; false -> none end
    end.

do([start], Flags, Children) ->
    Me = self(),
    Owner = spawn(fun() -> process_flag(trap_exit, true), Me ! {started, start_sup(top, Flags, Children)}, own() end),
    receive
        {started, {ok, Top}} -> ets:insert(st, [{top, Top}, {owner, Owner}]), spawn(fun() -> watch(Top) end), [ok, [top, 1]];
        {started, {error, Reason}} -> ets:insert(st, {exit, Reason}), [error, reason(Reason)]
    end;
do([crash, Id, Reason], _, _) -> newest(Id) ! {crash, Reason}, ok;
do([kill, Id], _, _) -> exit(newest(Id), kill), ok;
do([kill_sup, Id], _, _) -> exit(newest(Id), kill), ok;
do([fail_next, Id, Hows], _, _) -> ets:insert(st, {{fail, Id}, Hows}), ok;
do([sleep, Milliseconds], _, _) -> timer:sleep(Milliseconds), ok;
do([count], _, _) -> call(fun(Top) -> [[Key, N] || {Key, N} <- supervisor:count_children(Top)] end);
do([start_child, Child], _, _) -> call(fun(Top) -> reply(supervisor:start_child(Top, spec(Child))) end);
do([terminate_child, Id], _, _) -> call(fun(Top) -> reply(supervisor:terminate_child(Top, Id)) end);
do([restart_child, Id], _, _) -> call(fun(Top) -> reply(supervisor:restart_child(Top, Id)) end);
do([delete_child, Id], _, _) -> call(fun(Top) -> reply(supervisor:delete_child(Top, Id)) end);
do([stop_sup, Reason], _, _) ->
    Begin = erlang:monotonic_time(millisecond),
    case top() of
        none -> ok;
        Top ->
            Monitor = monitor(process, Top),
            ets:lookup_element(st, owner, 2) ! {stop, Top, Reason},
            receive {'DOWN', Monitor, _, _, _} -> ok end
    end,
    [took_about_ms, round((erlang:monotonic_time(millisecond) - Begin) / 100) * 100].

own() -> receive {stop, Top, Reason} -> exit(Top, Reason), own(); _ -> own() end.
watch(Top) -> Monitor = monitor(process, Top), receive {'DOWN', Monitor, _, _, Reason} -> ets:insert(st, {exit, Reason}) end.
call(Fun) -> try Fun(ets:lookup_element(st, top, 2)) catch exit:{Reason, _} -> [exit, Reason] end.

reply(ok) -> ok;
reply({ok, undefined}) -> [ok, null];
reply({ok, Pid}) -> [ok, name(Pid)];
reply({error, {already_started, Pid}}) -> [error, [already_started, name(Pid)]];
reply({error, Reason}) -> [error, word(Reason)].

word(Reason) when is_tuple(Reason) -> word(element(1, Reason));
word(Reason) -> Reason.

reason({shutdown, {failed_to_start_child, Id, _}}) -> [shutdown, failed_to_start_child, Id];
reason({shutdown, Why}) -> [shutdown, Why];
reason(Reason) -> word(Reason).

name(undefined) -> null;
name(Pid) when is_pid(Pid) -> ets:lookup_element(st, {name, Pid}, 2);
name(Other) -> Other.

%% ---- JSON: {[{Key, Value}]} is an object, any other pair an array of two

json({Pairs}) -> ["{", lists:join(",", [[json(Key), ":", json(Value)] || {Key, Value} <- Pairs]), "}"];
json({First, Second}) -> json([First, Second]);
json(List) when is_list(List) -> ["[", lists:join(",", [json(Value) || Value <- List]), "]"];
json(N) when is_integer(N) -> integer_to_list(N);
json(Atom) when Atom =:= null; Atom =:= true; Atom =:= false -> atom_to_list(Atom);
json(Atom) when is_atom(Atom) -> ["\"", atom_to_list(Atom), "\""].
