//! Runs named checks with fe2o3-amqp, the AMQP library of Rust's Azure SDKs, and prints one line for each:
//! `ok NAME`, or `failed NAME: REASON`.

use fe2o3_amqp::connection::ConnectionHandle;
use fe2o3_amqp::link::delivery::Delivery;
use fe2o3_amqp::sasl_profile::SaslProfile;
use fe2o3_amqp::types::messaging::{ApplicationProperties, Message, Outcome};
use fe2o3_amqp::types::primitives::{SimpleValue, Value};
use fe2o3_amqp::{Connection, Receiver, Sender, Session};
use std::error::Error;
use std::time::{Duration, SystemTime};

type Failure = Box<dyn Error + Send + Sync>;

fn fresh() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("rust-{:x}", now.as_nanos())
}

/// `amqp://host:port` of a connection string.
fn endpoint() -> String {
    let text = std::env::var("SDK_CONNECTION_STRING").unwrap_or_default();
    let address = text.split(';').find_map(|part| part.strip_prefix("Endpoint=sb://")).unwrap_or("localhost");
    format!("amqp://{}", address.trim_end_matches('/'))
}

async fn connect() -> Result<ConnectionHandle<()>, Failure> {
    let builder = Connection::builder().container_id(fresh()).sasl_profile(SaslProfile::Anonymous);
    Ok(builder.open(endpoint().as_str()).await?)
}

async fn send_receive_complete() -> Result<(), Failure> {
    let queue = fresh();
    let mut connection = connect().await?;
    let mut session = Session::begin(&mut connection).await?;
    let mut sender = Sender::attach(&mut session, "sender", queue.as_str()).await?;
    let properties = ApplicationProperties::builder().insert("yes", true).insert("whole", 5i64).build();
    let message = Message::builder().application_properties(properties).value(String::from("hello")).build();
    match sender.send(message).await? {
        Outcome::Accepted(_) => {}
        other => return Err(format!("the message was not accepted: {other:?}").into()),
    }
    sender.close().await?;
    let mut receiver = Receiver::attach(&mut session, "receiver", queue.as_str()).await?;
    let delivery: Delivery<Value> = receiver.recv().await?;
    let yes = delivery.message().application_properties.as_ref().and_then(|all| all.0.get("yes").cloned());
    if yes != Some(SimpleValue::Bool(true)) {
        return Err(format!("the boolean is {yes:?}").into());
    }
    receiver.accept(&delivery).await?;
    receiver.close().await?;
    session.end().await?;
    connection.close().await?;
    Ok(())
}

async fn reject_to_dead_letters() -> Result<(), Failure> {
    let queue = fresh();
    let mut connection = connect().await?;
    let mut session = Session::begin(&mut connection).await?;
    let mut sender = Sender::attach(&mut session, "sender", queue.as_str()).await?;
    sender.send(String::from("bad")).await?;
    let mut receiver = Receiver::attach(&mut session, "receiver", queue.as_str()).await?;
    let delivery: Delivery<Value> = receiver.recv().await?;
    receiver.reject(&delivery, None).await?;
    let letters = format!("{queue}/$DeadLetterQueue");
    let mut dead = Receiver::attach(&mut session, "dead", letters.as_str()).await?;
    let letter: Delivery<Value> = dead.recv().await?;
    dead.accept(&letter).await?;
    connection.close().await?;
    Ok(())
}

async fn address_as_url() -> Result<(), Failure> {
    let queue = fresh();
    let mut connection = connect().await?;
    let mut session = Session::begin(&mut connection).await?;
    let mut sender = Sender::attach(&mut session, "sender", format!("amqps://localhost/{queue}")).await?;
    sender.send(String::from("x")).await?;
    let mut receiver = Receiver::attach(&mut session, "receiver", format!("/{queue}")).await?;
    let delivery: Delivery<Value> = receiver.recv().await?;
    receiver.accept(&delivery).await?;
    connection.close().await?;
    Ok(())
}

async fn refused_link() -> Result<(), Failure> {
    let mut connection = connect().await?;
    let mut session = Session::begin(&mut connection).await?;
    match Receiver::attach(&mut session, "receiver", "no-queue/$DeadLetterQueue").await {
        Ok(_) => Err("a link to a queue that does not exist was attached".into()),
        Err(_) => Ok(()),
    }
}

#[tokio::main]
async fn main() {
    let mut failures = 0;
    macro_rules! check {
        ($name:literal, $run:expr) => {
            match tokio::time::timeout(Duration::from_secs(30), $run).await {
                Ok(Ok(())) => println!("ok {}", $name),
                Ok(Err(error)) => {
                    failures += 1;
                    println!("failed {}: {error}", $name)
                }
                Err(_) => {
                    failures += 1;
                    println!("failed {}: no answer in 30 seconds", $name)
                }
            }
        };
    }
    check!("send, receive and complete", send_receive_complete());
    check!("reject a message to the dead letters", reject_to_dead_letters());
    check!("addresses as URL and with a slash", address_as_url());
    check!("a refused link fails the attach", refused_link());
    std::process::exit(if failures > 0 { 1 } else { 0 });
}
