//! How many instructions an evaluation takes, the fuel that Wasmtime counts, and how much memory. Both are the same on
//! every machine and in every run, so a test can hold a policy to them, which no test can do with times.
//!
//! The engine that policies are run with elsewhere offers no fuel. This one differs from it in that, and in what there
//! is of WASI: random numbers, always the same ones. A policy that answers needs no more; calling anything else is a
//! trap.

use std::{cell::Cell, error::Error, fs, path::Path, rc::Rc, sync::Arc};

use anyhow::{Context, Result, anyhow};
use wapc::{
    HOST_NAMESPACE, ModuleState, WebAssemblyEngineProvider,
    wapc_functions::{
        GUEST_CALL, GUEST_ERROR_FN, GUEST_REQUEST_FN, GUEST_RESPONSE_FN, HOST_CALL, HOST_ERROR_FN, HOST_ERROR_LEN_FN,
        HOST_RESPONSE_FN, HOST_RESPONSE_LEN_FN, REQUIRED_STARTS,
    },
};
use wasmtime_provider::wasmtime::{
    self, Caller, Config, Engine, Extern, InstancePre, Linker, Memory, Module, Store, TypedFunc, error::format_err,
};

use cli::{Call, Cluster, engine::host::Host};

use crate::wasm;

/// A module that is compiled so that its instructions are counted.
pub struct InstructionCounter {
    instance: InstancePre<Guest>,
}

/// What an evaluation took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// From the instance's start to its answer.
    pub instructions: u64,
    /// The linear memory that the instance had at the end, in bytes. It never shrinks.
    pub memory: usize,
}

/// What a guest was asked, what it answers, and whom it may call: waPC's side of an instance.
type Guest = Arc<ModuleState>;

impl InstructionCounter {
    /// Compiles the module in a file.
    pub fn load(module: &Path) -> Result<Self> {
        let bytes = fs::read(module).with_context(|| format!("cannot read the module {}", module.display()))?;
        Self::from_bytes(&bytes)
    }

    /// Compiles a module, in binary or text format.
    pub fn from_bytes(module: &[u8]) -> Result<Self> {
        let instance = compile(module).map_err(|error| anyhow!("{error:#}"))?;
        Ok(Self { instance })
    }

    /// Calls one operation of a fresh instance, and tells how many instructions it took from its start to its answer.
    pub fn call(&self, operation: &str, payload: &[u8], cluster: impl Cluster + Send + Sync + 'static) -> (Call, u64) {
        let (call, cost) = self.measure(operation, payload, cluster);
        (call, cost.instructions)
    }

    /// Calls one operation of a fresh instance, and tells what it took.
    pub fn measure(
        &self,
        operation: &str,
        payload: &[u8],
        cluster: impl Cluster + Send + Sync + 'static,
    ) -> (Call, Cost) {
        let host = Arc::new(Host::new(cluster));
        let cost = Rc::new(Cell::new(Cost::default()));
        let engine = CountingEngine { instance: self.instance.clone(), running: None, cost: cost.clone() };
        let result = wasm::call(Box::new(engine), operation, payload, host.clone());
        (Call::new(result, &host), cost.get())
    }
}

fn compile(module: &[u8]) -> wasmtime::Result<InstancePre<Guest>> {
    let engine = Engine::new(Config::new().consume_fuel(true))?;
    let module = Module::new(&engine, module)?;
    let mut linker = Linker::new(&engine);
    define_exchange_with_guest(&mut linker)?;
    define_calls_of_host(&mut linker)?;
    linker.func_wrap("wasi_snapshot_preview1", "random_get", seed)?;
    linker.define_unknown_imports_as_traps(&module)?;
    linker.instantiate_pre(&module)
}

/// Runs one instance, and counts.
struct CountingEngine {
    instance: InstancePre<Guest>,
    running: Option<Running>,
    /// Up to the end of the last call.
    cost: Rc<Cell<Cost>>,
}

struct Running {
    store: Store<Guest>,
    memory: Option<Memory>,
    guest_call: TypedFunc<(i32, i32), i32>,
}

type Failure = Box<dyn Error + Send + Sync>;

impl WebAssemblyEngineProvider for CountingEngine {
    fn init(&mut self, guest: Guest) -> Result<(), Failure> {
        let mut store = Store::new(self.instance.module().engine(), guest);
        store.set_fuel(u64::MAX)?;
        let instance = self.instance.instantiate(&mut store)?;
        for start in REQUIRED_STARTS {
            if let Some(function) = instance.get_func(&mut store, start) {
                function.typed::<(), ()>(&store)?.call(&mut store, ())?;
            }
        }
        let guest_call = instance.get_typed_func(&mut store, GUEST_CALL)?;
        let memory = instance.get_memory(&mut store, "memory");
        self.running = Some(Running { store, memory, guest_call });
        Ok(())
    }

    fn call(&mut self, operation_length: i32, payload_length: i32) -> Result<i32, Failure> {
        let Running { store, memory, guest_call } = self.running.as_mut().ok_or("the instance was not started")?;
        let answered = guest_call.call(&mut *store, (operation_length, payload_length));
        let instructions = u64::MAX - store.get_fuel()?;
        self.cost.set(Cost { instructions, memory: memory.map_or(0, |memory| memory.data_size(&*store)) });
        Ok(answered?)
    }

    fn replace(&mut self, _module: &[u8]) -> Result<(), Failure> {
        Err("only the module that was compiled can be counted".into())
    }
}

/// How a guest gets what it is asked, and answers.
fn define_exchange_with_guest(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let request = |mut caller: Caller<'_, Guest>, operation: u32, payload: u32| {
        let (memory, guest) = memory_and_guest(&mut caller)?;
        let request = guest.get_guest_request().ok_or_else(|| format_err!("the guest is asked nothing"))?;
        write(memory, operation, request.operation.as_bytes())?;
        write(memory, payload, &request.msg)
    };
    linker.func_wrap(HOST_NAMESPACE, GUEST_REQUEST_FN, request)?;
    let response = |mut caller: Caller<'_, Guest>, at: u32, length: u32| -> wasmtime::Result<()> {
        let (memory, guest) = memory_and_guest(&mut caller)?;
        guest.set_guest_response(read(memory, at, length)?.to_vec());
        Ok(())
    };
    linker.func_wrap(HOST_NAMESPACE, GUEST_RESPONSE_FN, response)?;
    let error = |mut caller: Caller<'_, Guest>, at: u32, length: u32| -> wasmtime::Result<()> {
        let (memory, guest) = memory_and_guest(&mut caller)?;
        guest.set_guest_error(text(memory, at, length)?.to_owned());
        Ok(())
    };
    linker.func_wrap(HOST_NAMESPACE, GUEST_ERROR_FN, error)?;
    Ok(())
}

/// How a guest calls its host, and gets the answer.
fn define_calls_of_host(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    linker.func_wrap(HOST_NAMESPACE, HOST_CALL, host_call)?;
    let response_length = |caller: Caller<'_, Guest>| caller.data().host_response_len() as u32;
    linker.func_wrap(HOST_NAMESPACE, HOST_RESPONSE_LEN_FN, response_length)?;
    let response = |mut caller: Caller<'_, Guest>, at: u32| {
        let (memory, guest) = memory_and_guest(&mut caller)?;
        guest.with_host_response(|bytes| write(memory, at, bytes)).unwrap_or(Ok(()))
    };
    linker.func_wrap(HOST_NAMESPACE, HOST_RESPONSE_FN, response)?;
    let error_length = |caller: Caller<'_, Guest>| caller.data().get_host_error().unwrap_or_default().len() as u32;
    linker.func_wrap(HOST_NAMESPACE, HOST_ERROR_LEN_FN, error_length)?;
    let error = |mut caller: Caller<'_, Guest>, at: u32| {
        let (memory, guest) = memory_and_guest(&mut caller)?;
        write(memory, at, guest.get_host_error().unwrap_or_default().as_bytes())
    };
    linker.func_wrap(HOST_NAMESPACE, HOST_ERROR_FN, error)?;
    Ok(())
}

/// 1 if the host has a response, 0 if it has an error. Each text comes as where it stands, and its length.
#[allow(clippy::too_many_arguments, reason = "waPC has it so")]
fn host_call(
    mut caller: Caller<'_, Guest>,
    binding: u32,
    binding_length: u32,
    namespace: u32,
    namespace_length: u32,
    operation: u32,
    operation_length: u32,
    payload: u32,
    payload_length: u32,
) -> wasmtime::Result<i32> {
    let (memory, guest) = memory_and_guest(&mut caller)?;
    let binding = text(memory, binding, binding_length)?;
    let namespace = text(memory, namespace, namespace_length)?;
    let operation = text(memory, operation, operation_length)?;
    let payload = read(memory, payload, payload_length)?;
    guest.do_host_call(binding, namespace, operation, payload).map_err(|error| format_err!("{error}"))
}

/// What hash maps are seeded with: with other bytes, the same evaluation could take another number of instructions.
fn seed(mut caller: Caller<'_, Guest>, at: u32, length: u32) -> wasmtime::Result<u32> {
    let (memory, _) = memory_and_guest(&mut caller)?;
    write(memory, at, &vec![0; length as usize])?;
    Ok(0)
}

fn memory_and_guest<'c>(caller: &'c mut Caller<'_, Guest>) -> wasmtime::Result<(&'c mut [u8], &'c mut Guest)> {
    let memory = caller.get_export("memory").and_then(Extern::into_memory);
    let memory = memory.ok_or_else(|| format_err!("the module exports no memory"))?;
    Ok(memory.data_and_store_mut(caller))
}

fn read(memory: &[u8], at: u32, length: u32) -> wasmtime::Result<&[u8]> {
    let bytes = memory.get(at as usize..).and_then(|rest| rest.get(..length as usize));
    bytes.ok_or_else(|| format_err!("{length} bytes at {at} are beyond the guest's memory"))
}

fn text(memory: &[u8], at: u32, length: u32) -> wasmtime::Result<&str> {
    Ok(str::from_utf8(read(memory, at, length)?)?)
}

fn write(memory: &mut [u8], at: u32, bytes: &[u8]) -> wasmtime::Result<()> {
    let place = memory.get_mut(at as usize..).and_then(|rest| rest.get_mut(..bytes.len()));
    let place = place.ok_or_else(|| format_err!("{} bytes at {at} are beyond the guest's memory", bytes.len()))?;
    place.copy_from_slice(bytes);
    Ok(())
}
