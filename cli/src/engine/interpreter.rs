//! A module of the policy, run by an interpreter: what is deployed, with no compiler to wait for.
//!
//! A host of waPC offers a guest its request, takes the answer, and passes calls on. Of WASI there is what Rust's
//! standard library asks for: seeds of hash maps, no environment, and the standard error for a panic's message.

use std::{
    hash::{BuildHasher, RandomState},
    mem,
    sync::Arc,
};

use anyhow::{Context, Result, anyhow, bail};
use wasmi::{Caller, Config, Engine as Interpreter, Error, Extern, Linker, Memory, Module, Store, errors::MemoryError};

use super::host::{Engine, Host};

const WAPC: &str = "wapc";
const WASI: &str = "wasi_snapshot_preview1";
const WASI_SUCCESS: u32 = 0;

/// The functions that must run before the first call, where a module has them.
const STARTS: [&str; 2] = ["_start", "wapc_init"];

const NO_REASON: &str = "the module gave no reason";

/// A module that was read and checked.
pub struct Interpreted {
    module: Module,
    linker: Linker<Guest>,
}

/// One call.
struct Guest {
    operation: Vec<u8>,
    payload: Vec<u8>,
    answer: Result<Vec<u8>, String>,
    host: Arc<Host>,
    /// The answer to the last host call, or the error.
    host_answer: Vec<u8>,
    stderr: Vec<u8>,
}

impl Interpreted {
    /// Reads a module in WebAssembly's binary format.
    ///
    /// # Errors
    /// The bytes are not a WebAssembly module.
    pub fn load(module: &[u8]) -> Result<Self> {
        let interpreter = Interpreter::new(&Config::default());
        let module = Module::new(&interpreter, module).map_err(|error| {
            let error = error.to_string();
            anyhow!(
                "not a WebAssembly module: {}",
                error.lines().next().unwrap_or_default().trim_end_matches([' ', '-', '['])
            )
        })?;
        let mut linker = Linker::new(&interpreter);
        define_wapc(&mut linker)?;
        define_wasi(&mut linker)?;
        Ok(Self { module, linker })
    }
}

impl Engine for Interpreted {
    fn call(&self, operation: &str, payload: &[u8], host: Arc<Host>) -> Result<Vec<u8>> {
        let guest = Guest {
            operation: operation.as_bytes().to_owned(),
            payload: payload.to_owned(),
            answer: Err(NO_REASON.to_owned()),
            host: host.clone(),
            host_answer: vec![],
            stderr: vec![],
        };
        let mut store = Store::new(self.module.engine(), guest);
        let returned = self.run(&mut store, (length(operation.as_bytes()), length(payload)));
        let Guest { answer, stderr, .. } = store.into_data();
        let has_answered = returned.map_err(|error| match String::from_utf8_lossy(&stderr).trim() {
            "" => error,
            panic => error.context(panic.to_owned()),
        })?;
        let answer = match answer {
            Ok(answer) if has_answered => answer,
            answer => bail!(answer.err().unwrap_or_else(|| NO_REASON.to_owned())),
        };
        if operation == "validate" {
            host.find_cause(payload, &answer);
        }
        Ok(answer)
    }
}

impl Interpreted {
    /// Returns whether the module says that it has answered.
    fn run(&self, store: &mut Store<Guest>, lengths: (u32, u32)) -> Result<bool> {
        let instance = self.linker.instantiate_and_start(&mut *store, &self.module)?;
        for start in STARTS {
            if let Some(function) = instance.get_func(&*store, start) {
                function.typed::<(), ()>(&*store)?.call(&mut *store, ()).context(start)?;
            }
        }
        let call = instance.get_typed_func::<(u32, u32), u32>(&*store, "__guest_call")?;
        Ok(call.call(&mut *store, lengths)? == 1)
    }
}

/// Returns a length as waPC passes it, in 32 bits. What is longer does not fit into the module's memory either.
fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

type Guests<'c> = Caller<'c, Guest>;

fn define_wapc(linker: &mut Linker<Guest>) -> Result<(), Error> {
    linker.func_wrap(WAPC, "__guest_request", |mut guest: Guests<'_>, operation: u32, payload: u32| {
        let Guest { operation: name, payload: request, .. } = guest.data_mut();
        let (name, request) = (mem::take(name), mem::take(request));
        write(&mut guest, operation, &name)?;
        write(&mut guest, payload, &request)
    })?;
    linker.func_wrap(WAPC, "__guest_response", |mut guest: Guests<'_>, at: u32, length: u32| {
        guest.data_mut().answer = Ok(read(&guest, at, length)?);
        Ok::<_, Error>(())
    })?;
    linker.func_wrap(WAPC, "__guest_error", |mut guest: Guests<'_>, at: u32, length: u32| {
        guest.data_mut().answer = Err(read_text(&guest, at, length)?);
        Ok::<_, Error>(())
    })?;
    linker.func_wrap(WAPC, "__host_call", host_call)?;
    for (of_length, fetch) in [("__host_response_len", "__host_response"), ("__host_error_len", "__host_error")] {
        linker.func_wrap(WAPC, of_length, |guest: Guests<'_>| length(&guest.data().host_answer))?;
        linker.func_wrap(WAPC, fetch, |mut guest: Guests<'_>, at: u32| {
            let answer = mem::take(&mut guest.data_mut().host_answer);
            write(&mut guest, at, &answer)
        })?;
    }
    linker.func_wrap(WAPC, "__console_log", |_: Guests<'_>, _at: u32, _length: u32| ())?;
    Ok(())
}

/// Says whether it was answered; the answer, or the error, is fetched by other calls.
#[allow(clippy::too_many_arguments, reason = "waPC has it so")]
fn host_call(
    mut guest: Guests<'_>,
    binding: u32,
    binding_length: u32,
    namespace: u32,
    namespace_length: u32,
    operation: u32,
    operation_length: u32,
    payload: u32,
    payload_length: u32,
) -> Result<u32, Error> {
    let binding = read_text(&guest, binding, binding_length)?;
    let namespace = read_text(&guest, namespace, namespace_length)?;
    let operation = read_text(&guest, operation, operation_length)?;
    let payload = read(&guest, payload, payload_length)?;
    let guest = guest.data_mut();
    let answer = guest.host.serve(&binding, &namespace, &operation, &payload);
    let answered = answer.is_ok();
    guest.host_answer = answer.unwrap_or_else(|error| error.to_string().into_bytes());
    Ok(u32::from(answered))
}

fn define_wasi(linker: &mut Linker<Guest>) -> Result<(), Error> {
    linker.func_wrap(WASI, "environ_sizes_get", |mut guest: Guests<'_>, count: u32, size: u32| {
        write(&mut guest, count, &0u32.to_le_bytes())?;
        write(&mut guest, size, &0u32.to_le_bytes())?;
        Ok::<_, Error>(WASI_SUCCESS)
    })?;
    linker.func_wrap(WASI, "environ_get", |_: Guests<'_>, _: u32, _: u32| WASI_SUCCESS)?;
    linker.func_wrap(WASI, "random_get", |mut guest: Guests<'_>, at: u32, length: u32| {
        // Hash maps are seeded with it, as this one is.
        let seed = RandomState::new();
        let bytes: Vec<u8> = (0..length).map(|position| seed.hash_one(position).to_le_bytes()[0]).collect();
        write(&mut guest, at, &bytes)?;
        Ok::<_, Error>(WASI_SUCCESS)
    })?;
    linker.func_wrap(WASI, "fd_write", fd_write)?;
    linker.func_wrap(WASI, "proc_exit", |_: Guests<'_>, status: i32| Err::<(), _>(Error::i32_exit(status)))?;
    Ok(())
}

/// Keeps what is written, to any file: it is the message of a panic. Each part has an address and a length.
fn fd_write(mut guest: Guests<'_>, _file: u32, parts: u32, count: u32, written: u32) -> Result<u32, Error> {
    let mut total = 0u32;
    for part in 0..count {
        let at = parts + part * 8;
        let text = read(&guest, read_number(&guest, at)?, read_number(&guest, at + 4)?)?;
        total += length(&text);
        guest.data_mut().stderr.extend(text);
    }
    write(&mut guest, written, &total.to_le_bytes())?;
    Ok(WASI_SUCCESS)
}

fn read(guest: &Guests<'_>, at: u32, length: u32) -> Result<Vec<u8>, Error> {
    let memory = memory(guest)?;
    let end = offset(at).checked_add(offset(length));
    let bytes = end.and_then(|end| memory.data(guest).get(offset(at)..end));
    bytes.map(<[u8]>::to_vec).ok_or_else(|| MemoryError::OutOfBoundsAccess.into())
}

fn read_text(guest: &Guests<'_>, at: u32, length: u32) -> Result<String, Error> {
    Ok(String::from_utf8_lossy(&read(guest, at, length)?).into_owned())
}

fn read_number(guest: &Guests<'_>, at: u32) -> Result<u32, Error> {
    let mut bytes = [0; 4];
    memory(guest)?.read(guest, offset(at), &mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

fn write(guest: &mut Guests<'_>, at: u32, bytes: &[u8]) -> Result<(), Error> {
    Ok(memory(guest)?.write(guest, offset(at), bytes)?)
}

fn offset(address: u32) -> usize {
    usize::try_from(address).unwrap_or(usize::MAX)
}

fn memory(guest: &Guests<'_>) -> Result<Memory, Error> {
    guest.get_export("memory").and_then(Extern::into_memory).ok_or_else(|| Error::new("the module exports no memory"))
}
